/*
 * Properties use the same random values in every run, so that a failure is caused by the change under test. SEED sets
 * another seed, as `npm run campaign:properties` does.
 */

import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env["SEED"] ?? 1) });
