import { createHash } from 'node:crypto';
import { type NamedGrant, requestedContent } from '../cashback/grant-content.js';

/** The number of external IDs that are remembered, so that memory stays bounded. */
const REMEMBERED = 100_000;

/** What happened to a line: its grant is new, it existed before, or the line has errors. */
export type LineOutcome = 'granted' | 'existing' | string[];

/** A line of a file with a grant. */
export interface GrantLine {
  number: number;
  grant: NamedGrant;
}

/** The first line of the file without errors that has an external ID. */
export interface FirstLine {
  number: number;
  digest: string;
}

interface Turn {
  outcome: LineOutcome;
  /** The line to which the external ID belongs after this turn; undefined if all lines with it had errors. */
  first: FirstLine | undefined;
}

/**
 * Lets the first line of a file with an external ID win, although lines run at once: a later one waits for it. If a
 * line throws, those that wait for it throw, too, so that the next run grants the first one.
 */
export class GrantTurns {
  /** By external ID: the latest ones, the oldest first. */
  readonly #turns = new Map<string, { running: Promise<Turn>; isDone: boolean }>();

  /** @param grant grants a line. It is given the line to which the external ID belongs, if that is another one. */
  constructor(private readonly grant: (line: GrantLine, first?: FirstLine) => Promise<LineOutcome>) {}

  /** Call it in the order of the lines. */
  async take(line: GrantLine): Promise<LineOutcome> {
    const turn = { running: this.#run(line, this.#turns.get(line.grant.externalId)?.running), isDone: false };
    this.#turns.set(line.grant.externalId, turn);
    this.#forgetOldest();
    const { outcome, first } = await turn.running;
    turn.isDone = true;
    if (first === undefined || !Array.isArray(outcome)) return outcome;
    return outcome.map((error) => error.replace('the earlier request', `line ${first.number}`));
  }

  async #run(line: GrantLine, before: Promise<Turn> | undefined): Promise<Turn> {
    const first = (await before)?.first;
    const outcome = await this.grant(line, first);
    return { outcome, first: first ?? (Array.isArray(outcome) ? undefined : firstOf(line)) };
  }

  #forgetOldest(): void {
    const [oldest] = this.#turns;
    if (this.#turns.size > REMEMBERED && oldest?.[1].isDone) this.#turns.delete(oldest[0]);
  }
}

const firstOf = ({ number, grant }: GrantLine): FirstLine => ({ number, digest: digestOf(grant) });

/** Returns what is equal for lines that ask for the same. A line can be long, so it is not kept. */
export function digestOf(grant: NamedGrant): string {
  return createHash('sha256')
    .update(JSON.stringify(requestedContent(grant)))
    .digest('base64');
}
