import { type INestApplicationContext } from '@nestjs/common';
import { createReadStream } from 'node:fs';
import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
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
 * @returns the counts and, of a dry run, the sum of what would be granted.
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
type LineOutcome = GrantResultsDto['data'][number];

async function grantCredits(
  services: INestApplicationContext,
  { merchantId, file, isDryRun }: Import,
): Promise<ImportSummary> {
  const { policy } = await services.get(MerchantsService).get(merchantId);
  const { size } = await stat(file);
  const stream = createReadStream(file);
  const report = new ImportReport(policy.grantMaximumCents, isDryRun);
  const perform = isDryRun
    ? (batch: GrantLine[]) => Promise.all(batch.map((line) => checked(services, merchantId, line)))
    : (batch: GrantLine[]) => granted(services, merchantId, batch);
  for await (const batch of batchesOf(stream, report)) {
    report.count(batch, await perform(batch));
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
  return (result as GrantResultsDto).data;
}

async function checked(services: INestApplicationContext, merchantId: string, line: GrantLine): Promise<LineOutcome> {
  try {
    const grant = readGrant(readDto(CreateGrantDto, line.content));
    const { replayed } = await services.get(GrantsService).check(merchantId, grant);
    return { status: replayed ? 200 : 201, grant: null, problem: null };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { status: error.status, grant: null, problem: error.toBody('', '') };
  }
}

/**
 * Reads lines that are granted together. One with the `external_id` of an earlier line of the file comes after that: the
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

/** Counts what happens to a file, prints its bad lines, and shows the progress. */
class ImportReport {
  readonly #counts = { lines: 0, granted: 0, existing: 0, bad: 0 };
  #grantedCents = 0;
  #aboveMaximum = 0;
  #lookAlikes = 0;
  /** By what people see of an external ID: the first line that has it, and how. Those of lines far away are forgotten. */
  readonly #names = new Map<string, { externalId: string; number: number }>();
  readonly #isTerminal = process.stderr.isTTY;
  #shownAt = Date.now();

  constructor(
    private readonly maximumCents: number,
    private readonly isDryRun: boolean,
  ) {}

  get summary(): ImportSummary {
    const { lines, granted, existing, bad } = this.#counts;
    const would = { would_grant: granted, would_grant_amount: formatMoney(this.#grantedCents) };
    return { lines, ...(this.isDryRun ? would : { granted }), existing, bad };
  }

  isGrant(line: GrantLine | { number: number; errors: string[] }): line is GrantLine {
    this.#counts.lines++;
    if ('content' in line) return true;
    this.#printBad(line.number, undefined, line.errors);
    return false;
  }

  /** @throws Error for what is not the line's fault: the next run goes on. */
  count(batch: readonly GrantLine[], outcomes: readonly LineOutcome[]): void {
    for (const [at, { number, content, given }] of batch.entries()) {
      const { status, problem } = outcomes[at]! as { status: number; problem: Record<string, unknown> | null };
      const first = this.#firstWith(content.external_id ?? '', number);
      if (problem === null) {
        this.#counts[status === 201 ? 'granted' : 'existing']++;
        if (status === 201) this.#add(parseMoney(content.amount!));
        continue;
      }
      if (problem.retryable === true) throw new Error(`${String(problem.detail)}: run the command again`);
      const errors = errorsOf(problem as { errors?: Fault[] }, given);
      this.#printBad(
        number,
        given.get('external_id'),
        errors.map((error) => error.replace('the earlier request', first)),
      );
    }
  }

  show(how: () => string): void {
    if (Date.now() - this.#shownAt < (this.#isTerminal ? TERMINAL_INTERVAL_MS : LOG_INTERVAL_MS)) return;
    this.#shownAt = Date.now();
    const { lines, granted, existing, bad } = this.#counts;
    const text = `${how()}: ${lines} lines, ${granted} granted, ${existing} existed, ${bad} bad`;
    process.stderr.write(this.#isTerminal ? `\r\u001b[K${text}` : `${text}\n`);
  }

  /** Ends the progress, and warns of what is probably a mistake. */
  end(): void {
    const grants = this.isDryRun ? 'lines that would be granted' : 'granted lines';
    const maximum = formatMoney(this.maximumCents);
    if (this.#aboveMaximum > 0)
      console.error(`warning: ${this.#aboveMaximum} ${grants} are above the merchant's maximum of ${maximum}`);
    if (this.#lookAlikes > 0)
      console.error(
        `warning: ${this.#lookAlikes} lines have an external_id that looks like the different one of an earlier line`,
      );
  }

  #add(cents: number): void {
    this.#grantedCents += cents;
    if (cents > this.maximumCents) this.#aboveMaximum++;
  }

  /** Returns what an error calls the first request with an external ID. */
  #firstWith(externalId: string, number: number): string {
    const look = lookOf(externalId);
    const first = this.#names.get(look);
    if (first === undefined) {
      if (this.#names.size >= MOST_NAMES) this.#names.clear();
      this.#names.set(look, { externalId, number });
    } else if (first.externalId === externalId) return `line ${first.number}`;
    else this.#lookAlikes++;
    return 'the earlier request';
  }

  #printBad(line: number, externalId: string | undefined, errors: string[]): void {
    this.#counts.bad++;
    console.log(JSON.stringify({ line, ...(externalId !== undefined && { external_id: externalId }), errors }));
  }
}
