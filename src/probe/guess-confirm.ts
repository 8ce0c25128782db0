/*
 * Guesses the body of a confirm after one was refused: from names in the text of the refusal, and from the key under
 * which the service gives a batch's id. Only bodies that name the batch or its orders: `{}` might confirm something
 * that was never delivered.
 */
import { nested } from "../config/edit-config.ts";

/** A name as programs write it, with its parents: `batch_id`, `orderIds`, `packet.number`. */
const NAME = /[\p{L}_$][\p{L}\p{N}_$-]*(?:\.[\p{L}_$][\p{L}\p{N}_$-]*)*/gu;
const MANY = /ids$|orders$|заказы$|список/i;
const ONE = /id$|batch|packe?t|package|portion|guid|uuid|number|ид$|пакет|пачк|порци|номер/i;
/** Separates names from ordinary words: a name has an underscore, a dot or an inner capital, or it is an id. */
const LIKE_NAME = /[_.$]|\p{Ll}\p{Lu}|^(?:id|ids|ид)$/u;

/** `the body lacks the list orders`, `missing field: batch`, «не указан параметр пачка». */
const MISSED =
  /(?:lacks?|missing|requires?|required|expects?|expected|needs?|without|нет|отсутствует|нуж(?:ен|на|но|ны)|ожидается|требуется|указан[аоы]?|укажите)[\s:]+(?:the |an? )?(?:(list|array|список|массив)|field|property|parameter|key|поле|свойство|параметр|ключ)?[\s:]*["'«`]?([\p{L}_$][\p{L}\p{N}_$-]*)/iu;

export interface RefusedConfirm {
  /** The service's text. */
  words: string | null;
  /** The batch has an id. */
  hasId: boolean;
  /** Its configured path in a batch. */
  idPath: string;
  /** The refused body was the one of `auto`. */
  isAuto: boolean;
}

/** Undefined where nothing suggests another body. */
export function guessConfirmBody({ words, hasId, idPath, isAuto }: RefusedConfirm): object | undefined {
  for (const [name] of (words ?? "").matchAll(NAME)) {
    if (!LIKE_NAME.test(name)) continue;
    if (MANY.test(name)) return nested(name.split("."), "{order_ids}");
    // `auto` sends this already, so it is not what the service misses.
    if (hasId && ONE.test(name) && !(isAuto && name === "batch_id")) return nested(name.split("."), "{batch_id}");
  }
  const [, list, missed] = MISSED.exec(words ?? "") ?? [];
  if (missed !== undefined) {
    const isMany = list !== undefined || MANY.test(missed) || !hasId;
    return { [missed]: isMany ? "{order_ids}" : "{batch_id}" };
  }
  if (!isAuto || !hasId) return undefined;
  const own = /([^.[\]]+)$/.exec(idPath)?.[1];
  return own === undefined || own === "batch_id" ? { order_ids: "{order_ids}" } : { [own]: "{batch_id}" };
}
