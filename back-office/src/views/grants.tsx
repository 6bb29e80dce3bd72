import { CashbackError, type GrantsRow } from '@cashback/client';
import { toCentavos } from '@cashback/client/money';
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { count, dayFromToday, documentText, money, t } from '../format.js';
import { Field } from '../form.js';
import { failedLines, type GrantFile, type Line, listName, readFile } from '../grant-file.js';
import { address, useLoad, useOnce, useSubmit } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { amount, reason, who, text } from '../columns.js';
import { type Column, Table } from '../table.js';
import { Await, Badge, by, Heading, Money, Problem, problemText, save, Section, Tile } from '../ui.js';

/** What became of a line: it was granted now, it had been granted before, or why it was not. */
type Result = 'granted' | 'existing' | { why: string };

const BATCH = 100;
const SHOWN = 200;
const TRIES = 3;

function Grants({ session }: { session: Session }): JSX.Element {
  return (
    <>
      <Heading title={t.file.title} />
      {session.can('grants') && <FromFile />}
      {session.can('reports') && <ByWhom />}
    </>
  );
}

/** A list from a spreadsheet, with what is wrong in it before anything is granted. */
function FromFile(): JSX.Element {
  const [chosen, choose] = useState<{ name: string; bytes: ArrayBuffer }>();
  const [file, setFile] = useState<GrantFile>();
  const leave = (): void => {
    choose(undefined);
    setFile(undefined);
  };
  if (file) return <Lines key={file.name} file={file} leave={leave} />;
  return (
    <Section title={t.file.fromFile} text={t.file.text}>
      {chosen ? <Options chosen={chosen} onRead={setFile} leave={() => choose(undefined)} /> : <Drop choose={choose} />}
    </Section>
  );
}

function Drop({ choose }: { choose: (file: { name: string; bytes: ArrayBuffer }) => void }): JSX.Element {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const take = (file: File | undefined): void =>
    void file?.arrayBuffer().then((bytes) => choose({ name: file.name, bytes }));
  const over = (event: DragEvent): void => {
    event.preventDefault();
    setOver(event.type === 'dragover');
  };
  return (
    <div
      class={isOver ? 'drop over' : 'drop'}
      onDragOver={over}
      onDragLeave={over}
      onDrop={(event) => {
        over(event);
        take(event.dataTransfer?.files[0]);
      }}
    >
      <p>{t.file.drop}</p>
      <p>
        <input
          ref={input}
          id="file"
          class="hidden"
          type="file"
          accept=".csv,text/csv"
          aria-label={t.file.choose}
          onChange={({ currentTarget }) => take(currentTarget.files?.[0])}
        />
        <button class="primary" onClick={() => input.current?.click()}>
          {t.file.choose}
        </button>
      </p>
      <p class="soft">{t.file.columns}</p>
    </div>
  );
}

/** What the file does not say. */
function Options(props: {
  chosen: { name: string; bytes: ArrayBuffer };
  onRead: (file: GrantFile) => void;
  leave: () => void;
}): JSX.Element {
  const { chosen } = props;
  const { error, submit } = useSubmit(({ list = '', reason = '' }) =>
    Promise.resolve().then(() => props.onRead(readFile(chosen, list, reason))),
  );
  return (
    <form class="card stack" onSubmit={submit}>
      <p>{chosen.name}</p>
      <div class="pair">
        <Field
          name="reason"
          label={t.file.reason}
          hint={t.grant.reasonHint}
          suggestions={t.grant.reasons}
          optional="unsaid"
        />
        <Field
          name="list"
          label={t.file.list}
          value={listName(chosen.name)}
          hint={t.file.listHint}
          pattern="[A-Za-z0-9._\-]{1,60}"
        />
      </div>
      {error !== undefined && <Problem error={error} />}
      <p class="buttons">
        <button type="button" onClick={props.leave}>
          {t.action.back}
        </button>
        <button class="primary">{t.file.check}</button>
      </p>
    </form>
  );
}

interface LinesProps {
  file: GrantFile;
  leave: () => void;
}

function Lines({ file, leave }: LinesProps): JSX.Element {
  const good = file.lines.filter(({ grant }) => grant !== null);
  const [results, setResults] = useState<ReadonlyMap<number, Result>>(new Map());
  const limit = useLoad((signal) => cashback.me({ signal }), [results.size]);
  const { isBusy, error, run } = useOnce(() => grantAll(good, setResults));
  const isDone = results.size === good.length && good.length > 0 && !isBusy;
  const failed = file.lines.filter(({ number, fault }) => fault !== null || typeof results.get(number) === 'object');
  const whyOf = ({ number, fault }: Line): string => {
    const result = results.get(number);
    return fault ?? (typeof result === 'object' ? result.why : '');
  };
  const granted = [...results.values()].filter((result) => result === 'granted').length;
  const existing = [...results.values()].filter((result) => result === 'existing').length;
  const left = limit.data?.grants_left_today;
  const isTooMuch =
    results.size === 0 && left !== undefined && left !== null && toCentavos(left) < toCentavos(file.total);
  const shown = [...failed, ...file.lines.filter((line) => !failed.includes(line))].slice(0, SHOWN);
  return (
    <Section title={file.name}>
      <dl class="tiles">
        <Tile name={t.file.good} shown={count(good.length)} />
        <Tile name={t.file.faulty} shown={count(file.lines.length - good.length)} />
        <Tile name={t.file.total} shown={money(file.total)} />
        {left !== undefined && left !== null && <Tile name={t.file.left} shown={money(left)} />}
      </dl>
      {isTooMuch && <p class="warning">{t.file.tooMuch}</p>}
      {error !== undefined && !isBusy && <Problem error={error} />}
      <p role="status">
        {isBusy && (
          <>
            {t.file.progress(count(results.size), count(good.length))}
            <progress aria-label={t.action.working} value={results.size} max={good.length} />
          </>
        )}
        {isDone && t.file.done(count(granted), count(existing), count(good.length - granted - existing))}
      </p>
      <p class="buttons actions">
        <button onClick={leave} disabled={isBusy}>
          {isDone ? t.file.another : t.action.back}
        </button>
        {failed.length > 0 && (
          <button onClick={() => save(failedLines(failed, file.name, whyOf), 'text/csv', `${file.name}-x.csv`)}>
            {t.file.saveFailed(count(failed.length))}
          </button>
        )}
        {!isDone && good.length > 0 && (
          <button class="primary" onClick={run} disabled={isBusy}>
            {isBusy ? t.action.working : t.file.grant(count(good.length), money(file.total))}
          </button>
        )}
      </p>
      <Table caption={t.file.title} columns={lineColumns(results)} rows={shown} />
      {file.lines.length > SHOWN && <p class="soft">{t.file.more(count(file.lines.length - SHOWN))}</p>}
    </Section>
  );
}

/** Grants in batches, each line on its own; what exists is not granted again. */
async function grantAll(lines: Line[], show: (results: ReadonlyMap<number, Result>) => void): Promise<void> {
  const results = new Map<number, Result>();
  for (let at = 0; at < lines.length; at += BATCH) {
    await grantBatch(lines.slice(at, at + BATCH), results);
    show(new Map(results));
  }
}

async function grantBatch(lines: Line[], results: Map<number, Result>, attempt = 1): Promise<void> {
  const { data } = await cashback.grants.createMany({ data: lines.map(({ grant }) => grant!) });
  const again: Line[] = [];
  for (const [index, { status, problem }] of data.entries()) {
    const line = lines[index]!;
    if (problem?.retryable && attempt < TRIES) again.push(line);
    else if (problem) results.set(line.number, { why: problemText(new CashbackError(problem)) });
    else results.set(line.number, status === 200 ? 'existing' : 'granted');
  }
  if (again.length > 0) await grantBatch(again, results, attempt + 1);
}

const lineColumns = (results: ReadonlyMap<number, Result>): Column<Line>[] => [
  { head: t.file.line, cell: ({ number }) => count(number), isNumber: true },
  {
    head: t.field.document,
    cell: ({ grant, fields }) => (grant ? documentText(grant.document) : (fields.document ?? '–')),
    isLead: true,
  },
  text(t.field.reason, ({ grant, fields }) => grant?.reason ?? fields.reason),
  text(t.customer.expiresOn, ({ fields }) => fields.expires_on),
  {
    head: t.field.status,
    cell: ({ number, fault }) => {
      const result = results.get(number);
      if (fault !== null) return <span class="problem">{fault}</span>;
      if (result === undefined) return t.file.ready;
      if (typeof result === 'object') return <span class="problem">{result.why}</span>;
      return <Badge tone={result === 'granted' ? 'good' : 'off'} text={t.file.results[result]} />;
    },
  },
  {
    head: t.field.amount,
    cell: ({ grant, fields }) => (grant ? <Money of={grant.amount} /> : (fields.amount ?? '–')),
    isNumber: true,
    isLead: true,
  },
];

const grantColumns: Column<GrantsRow>[] = [
  who((row) => row.by, true),
  reason,
  {
    head: t.file.title,
    cell: (row) => (
      <a href={address('list/grants', { user_id: row.by.user_id ?? 'operator', label: by(row.by) })}>
        {count(row.grants)}
      </a>
    ),
    isNumber: true,
  },
  amount(t.file.voided, ({ voided }) => voided),
  amount(t.field.amount, ({ amount }) => amount, true),
];

function ByWhom(): JSX.Element {
  const period = { from: dayFromToday(-29), to: dayFromToday(1) };
  const grants = useLoad((signal) => cashback.reports.grants(period, { signal }), [period.to]);
  return (
    <Section title={t.file.byWhom}>
      <Await of={grants}>
        {({ data }) => <Table caption={t.file.byWhom} columns={grantColumns} rows={data} empty={t.file.noGrants} />}
      </Await>
    </Section>
  );
}

export const grants = (session: Session): JSX.Element => <Grants session={session} />;
