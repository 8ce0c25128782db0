import { configJsonSchema, showConfig } from "../config/show.ts";
import { EXIT } from "../domain/errors.ts";
import { jsonLine } from "../platform/terminal.ts";
import { type Command, load } from "./command.ts";

/** The effective configuration, defaults included, without secrets. */
export const configShow: Command = (call) => {
  const loaded = load(call);
  const text = showConfig(loaded);
  call.terminal.out(call.json ? jsonLine({ file: loaded.file, config: text }) : text.trimEnd(), "as it is");
  return EXIT.ok;
};

/** JSON Schema of the configuration file, for editors. */
export const configSchemaCommand: Command = (call) => {
  const schema = configJsonSchema();
  call.terminal.out(call.json ? jsonLine({ schema }) : JSON.stringify(schema, null, 2), "as it is");
  return EXIT.ok;
};
