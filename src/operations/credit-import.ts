import { type INestApplicationContext } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isAboveMaximum, type NamedGrant, requestedContent } from '../cashback/grant-content.js';
import { GrantsService } from '../cashback/grants.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type Policy } from '../merchants/policy.js';
import { Config } from '../platform/config/config.js';
import { RequestValidationPipe } from '../platform/http/validation.pipe.js';
import { formatMoney } from '../platform/values/money.js';
import { Problem } from '../platform/values/problem.js';
import { lookOf } from '../platform/values/texts.js';
import { type CreditLine, creditsOf, errorsOf, recordsOf } from './credit-file.js';

/** The number of grants in a transaction. Orders of its customers wait for its commit. */
const GRANTS_PER_TRANSACTION = 50;

/** The number of transactions that run at once, if the pool has that many connections. */
const LANES = 4;

const MOST_SPELLINGS = 100_000;
const TERMINAL_INTERVAL_MS = 500;
const LOG_INTERVAL_MS = 5000;

/** What happened to the lines of a file; `lines` does not count the header and empty lines. */
export interface ImportSummary {
  lines: number;
  granted: number;
  existing: number;
  bad: number;
}

interface Import {
  merchantId: string;
  file: string;
  /** Writes nothing: `granted` counts what would be. */
  isDryRun: boolean;
}

/**
 * Grants the credits of a CSV file. Prints one JSON line for each bad line, and the progress on stderr. A second run of
 * the same file finds the grants of the first one.
 *
 * @returns the counts, and the sum of what was granted.
 */
export async function importCredits(services: INestApplicationContext, given: Import): Promise<ImportReport> {
  const before = await stat(given.file);
  if (!before.isFile()) throw new Error('--file must be a file, because it is read twice');
  // What is checked is what is granted, also if somebody saves the file meanwhile.
  const folder = await mkdtemp(path.join(tmpdir(), 'cashback-import-'));
  const file = path.join(folder, 'credits.csv');
  try {
    await copyFile(given.file, file);
    const after = await stat(given.file);
    if (after.mtimeMs !== before.mtimeMs || after.size !== before.size)
      throw new Error('the file has changed while it was copied: run the command again');
    return await grantCredits(services, { ...given, file });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function grantCredits(
  services: INestApplicationContext,
  { merchantId, file, isDryRun }: Import,
): Promise<ImportReport> {
  const grants = services.get(GrantsService);
  const { policy } = await services.get(MerchantsService).get(merchantId);
  // Only the whole file tells that no text in quotes is read as lines.
  for await (const record of recordsOf(createReadStream(file))) void record;
  const { size } = await stat(file);
  const stream = createReadStream(file);
  const lines = creditsOf(stream, new RequestValidationPipe());
  const report = new ImportReport(policy, isDryRun);
  const progress = new Progress();
  const failures: unknown[] = [];
  const turns = new GrantTurns(
    isDryRun
      ? (line, first) => comparedWith(first, line) ?? outcomeOf(grants.check(merchantId, line.grant))
      : ({ grant }) => outcomeOf(grants.grant(merchantId, grant)),
  );
  const batches = batchesOf(lines, report);
  const lane = async (): Promise<void> => {
    for await (const batch of batches) {
      if (failures.length > 0) return;
      report.count(batch, await Promise.all(batch.map((line) => turns.take(line))));
      progress.show(() => `${Math.floor((100 * stream.bytesRead) / Math.max(size, 1))} % read: ${report.sentence}`);
    }
  };
  const lanes = Math.min(LANES, services.get(Config).DATABASE_POOL_SIZE);
  await Promise.all(Array.from({ length: lanes }, () => lane().catch((error: unknown) => failures.push(error))));
  stream.destroy();
  progress.end();
  report.warn();
  if (failures.length > 0) throw failures[0];
  return report;
}

/** The outcome of a line whose external ID belongs to another one, which was not granted: it is a dry run. */
function comparedWith(first: FirstLine | undefined, { grant }: GrantLine): Promise<LineOutcome> | undefined {
  if (first === undefined) return undefined;
  return Promise.resolve(first.digest === digestOf(grant) ? 'existing' : ['differs from the earlier request']);
}

async function outcomeOf(granting: Promise<{ replayed: boolean }>): Promise<LineOutcome> {
  try {
    return (await granting).replayed ? 'existing' : 'granted';
  } catch (error) {
    if (error instanceof Problem && error.code !== 'unavailable') return errorsOf(error);
    throw error;
  }
}

/** What happened to a file, and the sum of what was granted. */
class ImportReport {
  readonly summary: ImportSummary = { lines: 0, granted: 0, existing: 0, bad: 0 };
  grantedCents = 0;
  readonly #aboveMaximum: number[] = [];
  readonly #lookAlikes: number[] = [];
  /** External IDs by what people see of them. Memory stays bounded, so those of lines far away are not compared. */
  readonly #spellings = new Map<string, string>();

  constructor(
    private readonly policy: Policy,
    private readonly isDryRun: boolean,
  ) {}

  get sentence(): string {
    const { lines, granted, existing, bad } = this.summary;
    return `${lines} lines, ${granted} granted, ${existing} existed, ${bad} bad`;
  }

  isGrant(line: CreditLine): line is GrantLine {
    this.summary.lines++;
    if ('grant' in line) this.#compare(line);
    else this.#printBad(line.number, line.externalId, line.errors);
    return 'grant' in line;
  }

  count(batch: readonly GrantLine[], outcomes: readonly LineOutcome[]): void {
    for (const [at, { number, grant }] of batch.entries()) {
      const outcome = outcomes[at]!;
      if (Array.isArray(outcome)) this.#printBad(number, grant.externalId, outcome);
      else this.summary[outcome]++;
      if (outcome !== 'granted') continue;
      this.grantedCents += grant.amountCents;
      if (isAboveMaximum(grant, this.policy)) this.#aboveMaximum.push(number);
    }
  }

  warn(): void {
    const granted = this.isDryRun ? 'lines that would be granted' : 'granted lines';
    const maximum = formatMoney(this.policy.grantMaximumCents);
    this.#warnOf(this.#aboveMaximum, granted, `are above the merchant's maximum of ${maximum}`);
    this.#warnOf(this.#lookAlikes, 'lines', 'have an external_id that looks like the different one of an earlier line');
  }

  #warnOf(numbers: number[], lines: string, what: string): void {
    const [first] = numbers.sort((a, b) => a - b);
    if (first === undefined) return;
    console.error(`warning: ${numbers.length} ${lines}, the first of them line ${first}, ${what}`);
  }

  #compare({ number, grant: { externalId } }: GrantLine): void {
    const look = lookOf(externalId);
    const first = this.#spellings.get(look) ?? externalId;
    if (first !== externalId) this.#lookAlikes.push(number);
    if (this.#spellings.size >= MOST_SPELLINGS) this.#spellings.clear();
    this.#spellings.set(look, first);
  }

  #printBad(line: number, externalId: string | undefined, errors: string[]): void {
    this.summary.bad++;
    console.log(JSON.stringify({ line, ...(externalId !== undefined && { external_id: externalId }), errors }));
  }
}

/** Reads lines that are granted together. Lanes that share it get them in the order of the file. */
async function* batchesOf(lines: AsyncGenerator<CreditLine, void>, report: ImportReport): AsyncGenerator<GrantLine[]> {
  let batch: GrantLine[] = [];
  for await (const line of lines) {
    if (report.isGrant(line)) batch.push(line);
    if (batch.length < GRANTS_PER_TRANSACTION) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Shows the progress of a long command on stderr: one line that changes on a terminal, otherwise a line every 5 s. */
class Progress {
  readonly #isTerminal = process.stderr.isTTY;
  #shownAt = Date.now();
  #isShown = false;

  /** @param text is called only if it is time to show it. */
  show(text: () => string): void {
    if (Date.now() - this.#shownAt < (this.#isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS)) return;
    this.#shownAt = Date.now();
    this.#isShown = true;
    if (this.#isTerminal) process.stderr.write(`\r\u001b[K${text()}`);
    else console.error(text());
  }

  end(): void {
    if (this.#isTerminal && this.#isShown) process.stderr.write('\n');
  }
}

/** At least this number of external IDs is remembered, and at most twice as many, so that memory stays bounded. */
const REMEMBERED = 50_000;

/** What happened to a line: its grant is new, it existed before, or the line has errors. */
type LineOutcome = 'granted' | 'existing' | string[];

/** A line of a file with a grant. */
export interface GrantLine {
  number: number;
  grant: NamedGrant;
}

/** The first line of the file without errors that has an external ID. */
interface FirstLine {
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
