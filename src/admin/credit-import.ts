import { createReadStream } from 'node:fs';
import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { GrantsService } from '../cashback/grants.service.js';
import { isAboveMaximum } from '../cashback/grant-content.js';
import { formatMoney } from '../common/money.js';
import { Problem } from '../common/problem.js';
import { lookOf } from '../common/texts.js';
import { Config } from '../config/config.js';
import { RequestValidationPipe } from '../http/validation.pipe.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { Policy } from '../merchants/policy.js';
import { type CreditLine, creditsOf, errorsOf, recordsOf } from './credit-file.js';
import { digestOf, type FirstLine, type GrantLine, GrantTurns, type LineOutcome } from './grant-turns.js';

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
  const [config, grants] = [services.get(Config), services.get(GrantsService)];
  const { policy } = await services.get(MerchantsService).get(merchantId);
  // Only the whole file tells that no text in quotes is read as lines.
  for await (const record of recordsOf(createReadStream(file))) void record;
  const { size } = await stat(file);
  const stream = createReadStream(file);
  const lines = creditsOf(stream, new RequestValidationPipe(config));
  const report = new ImportReport(policy, isDryRun);
  const progress = new Progress();
  const failures: unknown[] = [];
  const turns = new GrantTurns(
    isDryRun
      ? (line, first) => comparedWith(first, line) ?? outcomeOf(grants.check(merchantId, line.grant))
      : ({ grant }) => outcomeOf(grants.grant(merchantId, grant)),
  );
  let reading: Promise<Batch> = Promise.resolve(NO_LINES);
  const nextBatch = (): Promise<Batch> =>
    (reading = reading.then(() => (failures.length > 0 ? NO_LINES : next(lines, report, turns))));
  const lane = async (): Promise<void> => {
    for (let batch = await nextBatch(); batch.lines.length > 0; batch = await nextBatch()) {
      report.count(batch.lines, await batch.granting);
      progress.show(() => `${Math.floor((100 * stream.bytesRead) / Math.max(size, 1))} % read: ${report.sentence}`);
    }
  };
  const lanes = Math.min(LANES, config.DATABASE_POOL_SIZE);
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

/** Lines that are granted together. */
interface Batch {
  lines: GrantLine[];
  granting: Promise<LineOutcome[]>;
}

const NO_LINES: Batch = { lines: [], granting: Promise.resolve([]) };

/** Reads the next batch and begins to grant it, in the order of the file. It is smaller only at the end of the file. */
async function next(lines: AsyncGenerator<CreditLine, void>, report: ImportReport, turns: GrantTurns): Promise<Batch> {
  const batch: GrantLine[] = [];
  while (batch.length < GRANTS_PER_TRANSACTION) {
    const line = await lines.next();
    if (line.done === true) break;
    if (report.isGrant(line.value)) batch.push(line.value);
  }
  return { lines: batch, granting: Promise.all(batch.map((line) => turns.take(line))) };
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
