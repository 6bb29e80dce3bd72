import type { Event, EventType, WebhookAttempt, WebhookEndpoint } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { count, documentText, instant, instantOf, t } from '../format.js';
import { firstPage, type Loaded, type Paged, useLoad } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { Action, Choice, Field, LATEST } from '../form.js';
import { type Column, PagedTable, Table } from '../table.js';
import { Await, by, Facts, Section, Heading } from '../ui.js';

/** @param range the first and the last number of events; without it, all there is about webhooks */
export function Webhooks({ range }: { range: string[] }): JSX.Element {
  const [first, last] = range.map(Number);
  return first && last ? <Range first={first} last={last} /> : <Overview />;
}

function Overview(): JSX.Element {
  const endpoints = useLoad((signal) => cashback.webhookEndpoints.list({ signal }), []);
  return (
    <>
      <Heading title={t.webhooks.title} />
      <Await of={endpoints}>
        {({ data }) => (
          <>
            {data.length === 0 && <p class="soft">{t.nothing}</p>}
            {data.map((endpoint) => (
              <Endpoint key={endpoint.id} endpoint={endpoint} onChange={endpoints.reload} />
            ))}
            <p class="buttons">
              <Action
                label={t.webhooks.create}
                onDone={endpoints.reload}
                work={async (values) => secretText((await cashback.webhookEndpoints.create(requestOf(values))).secret)}
              >
                <EndpointFields />
              </Action>
              <button onClick={endpoints.reload}>{t.action.refresh}</button>
            </p>
          </>
        )}
      </Await>
      <Feed />
    </>
  );
}

const secretText = (secret: string): JSX.Element => (
  <p>
    {t.webhooks.secretOnce} <code>{secret}</code>
  </p>
);

const requestOf = ({
  url = '',
  types,
  batch,
}: Record<string, string>): Parameters<typeof cashback.webhookEndpoints.create>[0] => ({
  url,
  ...(types && { types: types.split(' ') as EventType[] }),
  ...(batch && { batch: Number(batch) }),
});

const EndpointFields = ({ of }: { of?: WebhookEndpoint }): JSX.Element => (
  <>
    <Field name="url" label="URL" type="url" value={of?.url} />
    <Choice
      name="types"
      legend={t.webhooks.typesChoice}
      options={Object.entries(t.eventType).map(([type, text]) => [
        type,
        text,
        of?.types?.includes(type as EventType) ?? false,
      ])}
    />
    <Field name="batch" label={t.webhooks.batch} inputMode="numeric" value={of && String(of.batch)} optional />
  </>
);

function Endpoint({ endpoint, onChange }: { endpoint: WebhookEndpoint; onChange: () => void }): JSX.Element {
  const { id, url, status, behind, failures, last_attempt, next_attempt_at, oldest_waiting_at, types, batch } =
    endpoint;
  const api = cashback.webhookEndpoints;
  return (
    <section class="endpoint" aria-label={url}>
      <h2>
        {url} <span class={`badge ${status}`}>{t.webhooks.status[status]}</span>
      </h2>
      <Facts
        of={[
          [
            t.webhooks.behind,
            count(behind),
            types && <small>{t.webhooks.behindAll}</small>,
            oldest_waiting_at && <small>{t.webhooks.since(instant(oldest_waiting_at))}</small>,
          ],
          [
            t.webhooks.failures,
            count(failures),
            next_attempt_at && <small>{t.webhooks.nextAttempt(instant(next_attempt_at))}</small>,
          ],
          [
            t.webhooks.lastAttempt,
            last_attempt
              ? `${instant(last_attempt.at)}: ${last_attempt.status ?? last_attempt.error ?? '–'}`
              : t.webhooks.never,
            last_attempt?.response && <small>{last_attempt.response}</small>,
          ],
          [
            t.webhooks.types,
            types?.map((type) => t.eventType[type]).join(', ') ?? t.webhooks.allTypes,
            batch > 1 && <small>{t.webhooks.batchOf(batch)}</small>,
          ],
        ]}
      />
      <p class="buttons">
        <Action label={t.webhooks.ping} of={url} onDone={onChange} work={async () => pingText(await api.ping(id))}>
          <p>{t.webhooks.pingText}</p>
        </Action>
        {status === 'disabled' && (
          <Action label={t.webhooks.enable} of={url} onDone={onChange} work={async () => void (await api.enable(id))}>
            <p>{t.webhooks.enableText(count(behind))}</p>
          </Action>
        )}
        <Seek endpoint={endpoint} onChange={onChange} />
        <Action
          label={t.webhooks.rotate}
          of={url}
          onDone={onChange}
          work={async () => secretText((await api.rotateSecret(id)).secret)}
        >
          <p>{t.webhooks.rotateText}</p>
        </Action>
        <Action
          label={t.webhooks.change}
          of={url}
          onDone={onChange}
          work={async (values) => void (await api.replace(id, requestOf(values)))}
        >
          <EndpointFields of={endpoint} />
        </Action>
        <Action
          label={t.webhooks.remove}
          of={url}
          isDangerous
          onDone={onChange}
          work={async () => void (await api.delete(id))}
        >
          <p>{t.webhooks.removeText}</p>
        </Action>
      </p>
    </section>
  );
}

const pingText = ({ status, error }: WebhookAttempt): string =>
  status !== null && status < 300 ? t.webhooks.arrived(String(status)) : t.webhooks.failed(String(status ?? error));

const Seek = ({ endpoint, onChange }: { endpoint: WebhookEndpoint; onChange: () => void }): JSX.Element => (
  <Action
    label={t.webhooks.seek}
    of={endpoint.url}
    onDone={onChange}
    preview={({ from = '' }) => {
      const { oldest_waiting_at: oldest } = endpoint;
      const isLater = oldest !== null && instantOf(from) > oldest;
      return Promise.resolve(
        <>
          <p>{t.webhooks.seekPreview(instant(instantOf(from)))}</p>
          {isLater && <p class="warning">{t.webhooks.seekSkips(instant(oldest))}</p>}
          {endpoint.status === 'disabled' && <p class="warning">{t.webhooks.seekDisabled}</p>}
        </>,
      );
    }}
    work={async ({ from = '' }) => {
      const { behind } = await cashback.webhookEndpoints.seek(endpoint.id, { from: instantOf(from) });
      return t.webhooks.sought(count(behind));
    }}
  >
    <p>{t.webhooks.seekText}</p>
    <Field name="from" label={t.webhooks.seekFrom} type="datetime-local" />
  </Action>
);

/** The order or the customer of an event. */
const Subject = ({ of }: { of: Event['data'] }): JSX.Element =>
  'order' in of ? (
    <a href={`#/order/${of.order.id}`}>{of.order.external_id}</a>
  ) : (
    <a href={`#/customer/${of.wallet.id}`}>{documentText(of.wallet.document)}</a>
  );

const eventColumns: Column<Event>[] = [
  { head: t.field.date, cell: ({ timestamp }) => instant(timestamp) },
  { head: t.webhooks.sequence, cell: ({ sequence }) => sequence, isNumber: true },
  { head: t.webhooks.type, cell: ({ type }) => t.eventType[type] ?? type },
  { head: t.webhooks.of, cell: ({ data }) => <Subject of={data} /> },
  { head: t.field.by, cell: (event) => by(event.by) },
  {
    head: 'JSON',
    cell: (event) => (
      <details>
        <summary>{t.action.show}</summary>
        <pre>{JSON.stringify(event, null, 2)}</pre>
      </details>
    ),
  },
];

function Feed(): JSX.Element {
  const [type, setType] = useState('');
  const [from, setFrom] = useState('');
  const feed: Loaded<{ data: Event[] }> = useLoad(
    (signal) =>
      firstPage(
        cashback.events.list(
          {
            limit: 50,
            ...(from ? { from: instantOf(from) } : { last: 50 }),
            ...(type && { types: [type as EventType] }),
          },
          { signal },
        ),
      ),
    [type, from],
  );
  return (
    <Section title={t.webhooks.feed}>
      <form class="find" onSubmit={(event) => event.preventDefault()}>
        <label for="type">{t.webhooks.type}</label>
        <select id="type" onChange={({ currentTarget }) => setType(currentTarget.value)}>
          <option value="">{t.webhooks.allTypes}</option>
          {Object.entries(t.eventType).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
        <label for="from">{t.webhooks.feedFrom}</label>
        <input
          id="from"
          type="datetime-local"
          min="2000-01-01T00:00"
          max={LATEST}
          // While someone types 2026, the year is 0002.
          onChange={({ currentTarget }) => currentTarget.validity.valid && setFrom(currentTarget.value)}
        />
        <button type="button" onClick={feed.reload}>
          {t.action.refresh}
        </button>
      </form>
      <Await of={feed} lines={6}>
        {({ data }) => <Table caption={t.webhooks.feed} columns={eventColumns} rows={[...data].reverse()} />}
      </Await>
    </Section>
  );
}

/** A part of the feed, in the order in which it happened. */
const eventsOf = (first: number, last: number, signal: AbortSignal): Paged<Event> => ({
  async *pages({ cursor } = {}) {
    const after = Number(cursor ?? first - 1);
    const { data, next_after, has_more } = await firstPage(cashback.events.list({ after, limit: 50 }, { signal }));
    const isComplete = !has_more || next_after >= last;
    yield {
      data: data.filter(({ sequence }) => sequence <= last),
      next_cursor: isComplete ? null : String(next_after),
    };
  },
});

const Range = ({ first, last }: { first: number; last: number }): JSX.Element => (
  <>
    <h1>{t.webhooks.range(count(first), count(last))}</h1>
    <PagedTable
      caption={t.webhooks.feed}
      columns={eventColumns}
      list={(signal) => eventsOf(first, last, signal)}
      on={[first, last]}
    />
  </>
);

export const webhooks = (_: Session, range: string[]): JSX.Element => <Webhooks range={range} />;
