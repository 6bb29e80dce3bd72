import type { Event, EventType, WebhookAttempt, WebhookEndpoint } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Chart } from '../chart.js';
import { now } from '../clock.js';
import { count, documentText, instant, instantOf, t, time } from '../format.js';
import { firstPage, type Loaded, type Paged, useLoad } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { Action, Choice, Field, LATEST } from '../form.js';
import { when, who, OrderLink } from '../columns.js';
import { type Column, PagedTable, Table } from '../table.js';
import { Await, Badge, Empty, Facts, Head, Heading, Once, Section } from '../ui.js';

/** @param range the first and the last number of events; without it, all there is about webhooks */
export function Webhooks({ range }: { range: string[] }): JSX.Element {
  const [first, last] = range.map(Number);
  return first && last ? <Range first={first} last={last} /> : <Overview />;
}

function Overview(): JSX.Element {
  const endpoints = useLoad((signal) => cashback.webhookEndpoints.list({ signal }), []);
  const recent = useLoad(lastDay, []);
  const refresh = (): void => {
    endpoints.reload();
    recent.reload();
  };
  return (
    <>
      <Head title={t.webhooks.title} text={t.webhooks.text}>
        <button onClick={refresh}>{t.action.refresh}</button>
        <Action
          label={t.webhooks.create}
          isPrimary
          onDone={refresh}
          work={async (values) => secretText((await cashback.webhookEndpoints.create(requestOf(values))).secret)}
        >
          <EndpointFields />
        </Action>
      </Head>
      <Await of={endpoints}>
        {({ data }) => (
          <>
            {data.length === 0 && <Empty>{t.webhooks.none}</Empty>}
            {data.map((endpoint) => (
              <Endpoint key={endpoint.id} endpoint={endpoint} recent={recent} onChange={refresh} />
            ))}
          </>
        )}
      </Await>
      <Feed />
    </>
  );
}

/** The events of 24 hours; of more than these, the newest. */
const MOST = 1000;
const HOUR_MS = 3_600_000;

interface Recent {
  events: Event[];
  /** The beginnings of the hours. */
  hours: number[];
  isPartial: boolean;
}

async function lastDay(signal: AbortSignal): Promise<Recent> {
  const end = Math.floor(now().getTime() / HOUR_MS) * HOUR_MS;
  const hours = Array.from({ length: 24 }, (_, index) => end - (23 - index) * HOUR_MS);
  const list = cashback.events.list;
  const [first, last] = await Promise.all([
    firstPage(list({ from: new Date(hours[0]!).toISOString(), limit: 1 }, { signal })),
    firstPage(list({ last: 1 }, { signal })),
  ]);
  const [from, to] = [first.data[0]?.sequence ?? Infinity, last.data[0]?.sequence ?? 0];
  const after = Math.max(from - 1, to - MOST);
  const events: Event[] = [];
  if (from <= to)
    for await (const { data } of list({ after, limit: 100 }, { signal }).pages()) {
      events.push(...data);
      if (events.length >= MOST) break;
    }
  return { events, hours, isPartial: after >= from };
}

/** The service keeps no attempts: what is older than the oldest event that waits was delivered. */
function Hours({ endpoint, recent }: { endpoint: WebhookEndpoint; recent: Recent }): JSX.Element {
  const { types, oldest_waiting_at: oldest, created_at: created } = endpoint;
  const own = recent.events.filter(({ type }) => types?.includes(type) ?? true);
  const bars = recent.hours.map((hour) => {
    const all = own.filter(({ timestamp }) => Math.floor(Date.parse(timestamp) / HOUR_MS) * HOUR_MS === hour);
    const waits = ({ timestamp }: Event): boolean => oldest !== null && timestamp >= oldest;
    const waiting = all.filter(waits).length;
    const delivered = all.filter((event) => !waits(event) && event.timestamp >= created).length;
    const texts = [delivered > 0 && t.webhooks.delivered(delivered), waiting > 0 && t.webhooks.waiting(waiting)];
    return {
      ...{ name: time(new Date(hour)), value: delivered + waiting, text: texts.filter(Boolean).join(', ') || '0' },
      ...(waiting > 0 && { tone: 'down' as const }),
    };
  });
  const legend = recent.isPartial ? `${t.webhooks.legend} ${t.webhooks.partial(count(MOST))}` : t.webhooks.legend;
  return <Chart caption={t.webhooks.hours} bars={bars} legend={legend} />;
}

const secretText = (secret: string): JSX.Element => <Once text={t.webhooks.secretOnce} value={secret} />;

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

function Endpoint(props: { endpoint: WebhookEndpoint; recent: Loaded<Recent>; onChange: () => void }): JSX.Element {
  const { endpoint, recent, onChange } = props;
  const { id, url, status, behind, failures, last_attempt, next_attempt_at, oldest_waiting_at, types, batch } =
    endpoint;
  const api = cashback.webhookEndpoints;
  const tone = status === 'disabled' ? 'off' : failures > 0 ? 'wait' : 'good';
  return (
    <section class="card" aria-label={url}>
      <h2 class="address">
        {url} <Badge tone={tone} text={t.webhooks.status[tone === 'wait' ? 'failing' : status]} />
      </h2>
      <div class="columns">
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
        <Await of={recent} lines={8}>
          {(data) => <Hours endpoint={endpoint} recent={data} />}
        </Await>
      </div>
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
    <OrderLink id={of.order.id} number={of.order.external_id} />
  ) : (
    <a href={`#/customer/${of.wallet.id}`}>{documentText(of.wallet.document)}</a>
  );

const eventColumns: Column<Event>[] = [
  when(({ timestamp }) => timestamp),
  { head: t.webhooks.sequence, cell: ({ sequence }) => sequence, isNumber: true },
  { head: t.webhooks.type, cell: ({ type }) => t.eventType[type] ?? type, isLead: true },
  { head: t.webhooks.of, cell: ({ data }) => <Subject of={data} /> },
  who((event) => event.by),
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
      <form class="bar" onSubmit={(event) => event.preventDefault()}>
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
        {({ data }) => (
          <Table
            caption={t.webhooks.feed}
            columns={eventColumns}
            rows={[...data].reverse()}
            empty={t.webhooks.noEvents}
          />
        )}
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
    <Heading title={t.webhooks.range(count(first), count(last))} />
    <PagedTable
      caption={t.webhooks.feed}
      columns={eventColumns}
      list={(signal) => eventsOf(first, last, signal)}
      on={[first, last]}
    />
  </>
);

export const webhooks = (_: Session, range: string[]): JSX.Element => <Webhooks range={range} />;
