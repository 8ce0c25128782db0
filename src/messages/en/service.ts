import type { Said } from "../message.ts";

export const service = {
  answerRepeats: ({ place }: { place: string }) => `the answer has ${place} more than once`,
  webPage: "a web page, which accepts nothing",
  brokenJson: "JSON that breaks off",
  otherNamesCertificate: ({ subject }: { subject: string }) =>
    `shows a certificate for ${subject}, which is another name`,
  fixBaseUrl: "Correct service.base_url; somebody else may answer at this address.",
  certificateOutOfDate: ({ subject, validFrom, validTo }: { subject: string; validFrom: string; validTo: string }) =>
    `shows a certificate for ${subject} that is out of date (valid from ${validFrom} to ${validTo})`,
  compareClock: "Compare this machine's clock; where it is right, the service must renew its certificate.",
  unknownAuthority: ({ subject, issuer }: { subject: string; issuer: string }) =>
    `shows a certificate for ${subject}, issued by ${issuer}, which no authority known here vouches for`,
  setCaFile: "Where the network inspects TLS, put the certificate of its authority into service.ca_file.",
  stoppedAsking: "Stopped while asking the service.",
  stoppedBefore: "was stopped before it left",
  charset: ({ charset }: { charset: string }) =>
    `came in the encoding ${charset}, which cannot be read; the service should answer in UTF-8`,
  compressed: ({ encoding }: { encoding: string }) => `came compressed (${encoding}) although that was not asked for`,
  answerToPostTooLarge: ({ max }: { max: number }) => `is larger than an answer to a POST may be (${max} bytes)`,
  answerTooLarge: ({ max }: { max: number }) => `is larger than answer_bytes_max (${max} bytes)`,
  tooManyValues: ({ valuesMax }: { valuesMax: number }) =>
    `holds more values than an answer to a POST may (${valuesMax})`,
  notFinished: ({ seconds }: { seconds: number }) => `was not finished within ${seconds} s`,
  noConnection: "found no connection in time",
  notAnswered: "was not answered in time",
  proxyRefused: ({ status }: { status: number }) => `was refused by the proxy (${status})`,
  notReached: ({ code }: { code: string }) => `did not reach the service (${code})`,
  notHttp: ({ code }: { code: string }) => `was answered with something that is not HTTP as it should be (${code})`,
  cutOff: ({ code }: { code: string }) => `was cut off on the way (${code})`,
  placeAnswered: ({ status }: { status: number }) => `It was answered with ${status}.`,
  stoppedCalling: "Stopped while it was called.",
  placeSilent: ({ seconds }: { seconds: number }) => `It did not answer within ${seconds} s.`,
  placeNotReached: ({ code }: { code: string }) => `It could not be reached (${code}).`,
  of: ({ request, what }: { request: string; what: Said }) => `${request} ${what}`,
  answered: ({ status, place, words }: { status: number; place: string; words: string }) =>
    `was answered with ${status}${place === "" ? "" : ` to ${place}`}${words === "" ? "" : `: ${words}`}`,
  nowhere: "nowhere",
  noLink: "no connection",
  cached: ({ path, sign }: { path: string; sign: string }) =>
    `The answer of GET ${path} comes from a cache (${sign}): what is new is not in it.`,
  exemptFromCache: "Exempt the service's addresses below /api/v1/1c from the cache in front of it.",
};
