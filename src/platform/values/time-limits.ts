/**
 * How long the parts of a request take at most, in milliseconds. Each leaves the following ones the time to say what
 * happened: a client gives up after five seconds.
 */

/** A move of a sandbox's clock, and the pages of a CSV file after the first. */
export const LONG_WORK_MS = 2000;

/** The wait for a turn: a connection, a processor, a place among the requests. */
export const TURN_MS = 3000;

/** One statement. */
export const STATEMENT_MS = 3500;

/** After this, a use case is not tried again. */
export const RETRIES_MS = 4000;

/** The answer; of a request with a body, before and after its arrival. */
export const ANSWER_MS = 4500;

/** The arrival of a body. The edge lets a client take this long, too. */
export const BODY_MS = 10_000;
