import { type INestApplicationContext } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type NamedGrant, requestedContent } from '../cashback/grant-content.js';
import { CreateGrantDto, type GrantResultsDto, readGrant } from '../cashback/grant.dto.js';
import { GrantsService } from '../cashback/grants.service.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { readDto } from '../platform/http/validation.pipe.js';
import { formatMoney, parseMoney } from '../platform/values/money.js';
import { type Fault, Problem } from '../platform/values/problem.js';
import { lookOf } from '../platform/values/texts.js';
import { type CreditContent, creditsOf, errorsOf, recordsOf } from './credit-file.js';
import { OperatorClient } from './operator-client.js';

/** The number of grants in a request. */
const BATCH = 100;

const MOST_NAMES = 100_000;
const TERMINAL_INTERVAL_MS = 500;
const LOG_INTERVAL_MS = 5000;

/** What happened to the lines of a file; `lines` does not count the header and empty lines. */
export interface ImportSummary {
  lines: number;
  granted?: number;
  granted_amount?: string;
  /** Of a dry run: what would be granted. */
  would_grant?: number;
  would_grant_amount?: string;
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
export async function importCredits(services: INestApplicationContext, given: Import): Promise<ImportSummary> {
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
    // Only the whole file tells that no text in quotes is read as lines.
    for await (const record of recordsOf(createReadStream(file))) void record;
    return await grantCredits(services, { ...given, file });
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A line to grant. */
interface GrantLine {
  number: number;
  content: CreditContent;
  given: ReadonlyMap<string, string>;
}

/** What came of a line: 201 is a new grant, 200 one that existed. */
interface LineOutcome {
  status: number;
  problem: { errors?: readonly Fault[]; detail?: unknown; retryable?: unknown } | null;
  /** Of a dry run: of what a line asks for, by which the next one with its external ID is compared. */
  digest?: string;
}

async function grantCredits(
  services: INestApplicationContext,
  { merchantId, file, isDryRun }: Import,
): Promise<ImportSummary> {
  const { policy } = await services.get(MerchantsService).get(merchantId);
  const { size } = await stat(file);
  const stream = createReadStream(file);
  const report = new ImportReport(policy.grantMaximumCents, isDryRun);
  for await (const batch of batchesOf(stream, report)) {
    const outcomes = isDryRun
      ? await Promise.all(batch.map((line) => checked(services, merchantId, line, report.firstWith(line))))
      : await granted(services, merchantId, batch);
    report.count(batch, outcomes);
    report.show(() => `${Math.floor((100 * stream.bytesRead) / Math.max(size, 1))} % read`);
  }
  report.end();
  return report.summary;
}

async function granted(
  services: INestApplicationContext,
  merchantId: string,
  batch: readonly GrantLine[],
): Promise<LineOutcome[]> {
  const body = { data: batch.map(({ content }) => content) };
  const request = { merchantId, params: {}, query: {}, headers: {}, body };
  const { result } = await services.get(OperatorClient).call('createGrants', request);
  return (result as GrantResultsDto).data as LineOutcome[];
}

/** @param first the line that would have made the grant of this external ID. */
async function checked(
  services: INestApplicationContext,
  merchantId: string,
  { content }: GrantLine,
  first: FirstLine | undefined,
): Promise<LineOutcome> {
  try {
    const grant = readGrant(readDto(CreateGrantDto, content));
    const digest = digestOf(grant);
    if (first !== undefined && first.digest !== digest) return { status: 409, problem: { detail: DIFFERS } };
    const { replayed } = first ? { replayed: true } : await services.get(GrantsService).check(merchantId, grant);
    return { status: replayed ? 200 : 201, problem: null, digest };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { status: error.status, problem: error.toBody('', '') };
  }
}

const EARLIER = 'the earlier request';
const DIFFERS = `differs from ${EARLIER}`;

const digestOf = (grant: NamedGrant): string =>
  createHash('sha256')
    .update(JSON.stringify(requestedContent(grant)))
    .digest('base64');

/**
 * Reads lines that are granted together. One with the `external_id` of an earlier line comes after that, because the
 * first good one wins.
 */
async function* batchesOf(stream: AsyncIterable<Buffer>, report: ImportReport): AsyncGenerator<GrantLine[]> {
  let batch = new Map<unknown, GrantLine>();
  for await (const line of creditsOf(stream)) {
    if (!report.isGrant(line)) continue;
    const key = line.content.external_id ?? line;
    if (batch.has(key) || batch.size === BATCH) {
      yield [...batch.values()];
      batch = new Map();
    }
    batch.set(key, line);
  }
  if (batch.size > 0) yield [...batch.values()];
}

/** The first good line with an external ID, or with one that looks like it. */
interface FirstLine {
  externalId: string;
  number: number;
  digest: string | undefined;
}

/** Counts what happens to a file, prints its bad lines, and shows the progress. */
class ImportReport {
  readonly #counts = { lines: 0, granted: 0, existing: 0, bad: 0 };
  #grantedCents = 0;
  readonly #aboveMaximum: number[] = [];
  readonly #lookAlikes: number[] = [];
  /** By what people see of an external ID. Memory stays bounded, so those of lines far away are forgotten. */
  readonly #first = new Map<string, FirstLine>();
  readonly #isTerminal = process.stderr.isTTY;
  #shownAt = Date.now();
  #isShown = false;

  constructor(
    private readonly maximumCents: number,
    private readonly isDryRun: boolean,
  ) {}

  get summary(): ImportSummary {
    const { lines, granted, existing, bad } = this.#counts;
    const amount = formatMoney(this.#grantedCents);
    const sums = this.isDryRun
      ? { would_grant: granted, would_grant_amount: amount }
      : { granted, granted_amount: amount };
    return { lines, ...sums, existing, bad };
  }

  isGrant(line: GrantLine | { number: number; errors: string[] }): line is GrantLine {
    this.#counts.lines++;
    if ('content' in line) return true;
    this.#printBad(line.number, undefined, line.errors);
    return false;
  }

  /** Returns the first good line with the external ID of a line. */
  firstWith({ content: { external_id: externalId = '' } }: GrantLine): FirstLine | undefined {
    const first = this.#first.get(lookOf(externalId));
    return first?.externalId === externalId ? first : undefined;
  }

  /** @throws Error for what is not the line's fault: the next run goes on. */
  count(batch: readonly GrantLine[], outcomes: readonly LineOutcome[]): void {
    for (const [at, line] of batch.entries()) {
      const outcome = outcomes[at]!;
      const { problem } = outcome;
      if (problem === null) this.#countGood(line, outcome);
      else if (problem.retryable === true) throw new Error(`${String(problem.detail)}: run the command again`);
      else {
        const first = this.firstWith(line);
        const errors = errorsOf(problem, line.given).map((error) =>
          first === undefined ? error : error.replace(EARLIER, `line ${first.number}`),
        );
        this.#printBad(line.number, line.given.get('external_id'), errors);
      }
    }
  }

  show(how: () => string): void {
    if (Date.now() - this.#shownAt < (this.#isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS)) return;
    this.#shownAt = Date.now();
    this.#isShown = true;
    const { lines, granted, existing, bad } = this.#counts;
    const text = `${how()}: ${lines} lines, ${granted} granted, ${existing} existed, ${bad} bad`;
    process.stderr.write(this.#isTerminal ? `\r\u001b[K${text}` : `${text}\n`);
  }

  /** Ends the progress, and warns of what is probably a mistake. */
  end(): void {
    if (this.#isTerminal && this.#isShown) process.stderr.write('\n');
    const granted = this.isDryRun ? 'lines that would be granted' : 'granted lines';
    const maximum = formatMoney(this.maximumCents);
    this.#warnOf(this.#aboveMaximum, granted, `are above the merchant's maximum of ${maximum}`);
    this.#warnOf(this.#lookAlikes, 'lines', 'have an external_id that looks like the different one of an earlier line');
  }

  #warnOf([first, ...others]: number[], lines: string, what: string): void {
    if (first !== undefined)
      console.error(`warning: ${others.length + 1} ${lines}, the first of them line ${first}, ${what}`);
  }

  #countGood({ number, content }: GrantLine, { status, digest }: LineOutcome): void {
    const isNew = status === 201;
    this.#counts[isNew ? 'granted' : 'existing']++;
    const [externalId, cents] = [content.external_id!, parseMoney(content.amount!)];
    if (isNew) this.#grantedCents += cents;
    if (isNew && cents > this.maximumCents) this.#aboveMaximum.push(number);
    const look = lookOf(externalId);
    const first = this.#first.get(look);
    if (first !== undefined && first.externalId !== externalId) this.#lookAlikes.push(number);
    if (first !== undefined) return;
    if (this.#first.size >= MOST_NAMES) this.#first.clear();
    this.#first.set(look, { externalId, number, digest });
  }

  #printBad(line: number, externalId: string | undefined, errors: string[]): void {
    this.#counts.bad++;
    console.log(JSON.stringify({ line, ...(externalId !== undefined && { external_id: externalId }), errors }));
  }
}
