import { createHash } from 'node:crypto';
import { type NamedGrant, requestedContent } from '../cashback/grant-content.js';

/** At least this number of external IDs is remembered, and at most twice as many, so that memory stays bounded. */
const REMEMBERED = 50_000;

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

interface TurnResult {
  outcome: LineOutcome;
  /** The line to which the external ID belongs after this turn; undefined if all lines with it had errors. */
  first: FirstLine | undefined;
}

interface Turn {
  running: Promise<TurnResult>;
  isDone: boolean;
}

/**
 * Lets the first line of a file with an external ID win, although lines run at once: a later one waits for it. If a
 * line throws, those that wait for it throw, too, so that the next run grants the first one.
 */
export class GrantTurns {
  /** By external ID. */
  #latest = new Map<string, Turn>();
  #older = new Map<string, Turn>();

  /** @param grant grants a line. It is given the line to which the external ID belongs, if that is another one. */
  constructor(private readonly grant: (line: GrantLine, first?: FirstLine) => Promise<LineOutcome>) {}

  /** Call it in the order of the lines. */
  async take(line: GrantLine): Promise<LineOutcome> {
    const { externalId } = line.grant;
    const before = this.#latest.get(externalId) ?? this.#older.get(externalId);
    const turn = { running: this.#run(line, before?.running), isDone: false };
    this.#remember(externalId, turn);
    const { outcome, first } = await turn.running;
    turn.isDone = true;
    if (first === undefined || !Array.isArray(outcome)) return outcome;
    return outcome.map((error) => error.replace('the earlier request', `line ${first.number}`));
  }

  async #run(line: GrantLine, before: Promise<TurnResult> | undefined): Promise<TurnResult> {
    const first = (await before)?.first;
    const outcome = await this.grant(line, first);
    return { outcome, first: first ?? (Array.isArray(outcome) ? undefined : firstOf(line)) };
  }

  #remember(externalId: string, turn: Turn): void {
    this.#latest.set(externalId, turn);
    if (this.#latest.size < REMEMBERED) return;
    const unfinished = [...this.#older].filter(([, { isDone }]) => !isDone);
    this.#older = new Map([...unfinished, ...this.#latest]);
    this.#latest = new Map();
  }
}

const firstOf = ({ number, grant }: GrantLine): FirstLine => ({ number, digest: digestOf(grant) });

/** Returns what is equal for lines that ask for the same. A line can be long, so it is not kept. */
export function digestOf(grant: NamedGrant): string {
  return createHash('sha256')
    .update(JSON.stringify(requestedContent(grant)))
    .digest('base64');
}
