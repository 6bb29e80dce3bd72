import type { Credit, Entry, EntrySource, Order, Wallet } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isDocument } from '../../../src/platform/values/document.js';
import { amountOf, day, documentOf, documentText, instant, money, month, staffId, t } from '../format.js';
import { firstPage, go, useLoad } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { Chart } from '../chart.js';
import { Action, Field } from '../form.js';
import { type Column, PagedTable } from '../table.js';
import { Await, by, Document, earnsNothing, Money, save, Section, Skeleton, Tile, Heading } from '../ui.js';
import { documentOfUnknown } from '../search.js';

export function Customer({
  id: walletId,
  more: [key],
  session,
}: {
  id: string;
  more: string[];
  session: Session;
}): JSX.Element {
  const document = walletId === 'new' ? documentOfUnknown(session, key ?? '') : undefined;
  const wallet = useLoad(
    (signal) =>
      document ? cashback.wallets.search({ document }, { signal }) : cashback.wallets.get(walletId ?? '', { signal }),
    [walletId, key],
  );
  const [version, changed] = useState(0);
  const reload = (): void => {
    wallet.reload();
    changed(version + 1);
  };
  return (
    <>
      <Heading title={t.customer.title} />
      <Await of={wallet} lines={8}>
        {(data) => (
          <>
            <Balance wallet={data} session={session} onChange={reload} />
            <Lists wallet={data} version={version} session={session} onChange={reload} />
          </>
        )}
      </Await>
    </>
  );
}

interface Props {
  wallet: Wallet;
  session: Session;
  onChange: () => void;
}

function Balance({ wallet, session, onChange }: Props): JSX.Element {
  const { next_release, next_expiry } = wallet;
  return (
    <>
      <p class="bar">
        <Document of={wallet.document} />
        {isDocument(wallet.document) && session.can('grants') && (
          <Grant wallet={wallet} session={session} onDone={onChange} />
        )}
        {isDocument(wallet.document) && session.can('privacy') && <Privacy wallet={wallet} />}
      </p>
      <dl class="tiles">
        <Tile name={t.customer.available} amount={wallet.available}>
          {next_expiry && t.customer.nextExpiry(money(next_expiry.amount), day(next_expiry.expires_on))}
        </Tile>
        <Tile name={t.customer.pending} amount={wallet.pending}>
          {next_release && t.customer.nextRelease(money(next_release.amount), day(next_release.available_on))}
        </Tile>
        <Tile name={t.customer.held} amount={wallet.held}>
          {t.customer.heldHint}
        </Tile>
        <Tile name={t.customer.debt} amount={wallet.debt}>
          {t.customer.debtHint}
        </Tile>
      </dl>
    </>
  );
}

function Grant({ wallet, session, onDone }: { wallet: Wallet; session: Session; onDone: () => void }): JSX.Element {
  return (
    <Action
      label={t.grant.button}
      of={documentText(wallet.document)}
      onDone={onDone}
      preview={({ amount = '', expires_on }) =>
        t.grant.preview(
          money(amountOf(amount)),
          expires_on ? t.order.through(day(expires_on)) : t.grant.days(session.policy.validity_days),
        )
      }
      work={async ({ amount = '', reason, note, store, expires_on }, id) => {
        await cashback.grants.create({
          external_id: staffId(id),
          document: wallet.document,
          amount: amountOf(amount),
          ...(reason && { reason }),
          ...(note && { note }),
          ...(store && { store }),
          ...(expires_on && { expires_on }),
        });
      }}
    >
      <Field
        name="amount"
        label={t.field.amount}
        inputMode="decimal"
        hint={t.grant.amountHint(money(session.policy.grant_maximum))}
      />
      <Field name="reason" label={t.grant.reason} hint={t.grant.reasonHint} suggestions={t.grant.reasons} />
      <Field name="note" label={t.grant.note} hint={t.grant.noteHint} optional />
      <Field name="store" label={t.field.store} optional />
      <Field name="expires_on" label={t.grant.expiresOn} type="date" optional />
    </Action>
  );
}

function Privacy({ wallet }: { wallet: Wallet }): JSX.Element {
  return (
    <>
      <Action
        label={t.privacy.exportButton}
        work={async () => {
          const all = await cashback.customers.export({ document: wallet.document });
          save(JSON.stringify(all, null, 2), 'application/json', 'export.json');
        }}
      >
        <p>{t.privacy.exportText}</p>
      </Action>
      <Action
        label={t.privacy.eraseButton}
        isDangerous
        onDone={() => go('')}
        work={async ({ confirm = '' }) => {
          await cashback.customers.erase({ document: wallet.document, confirm: documentOf(confirm) });
        }}
      >
        <p>{t.privacy.eraseText}</p>
        <Field name="confirm" label={t.privacy.confirm} />
      </Action>
    </>
  );
}

const orderColumns: Column<Order>[] = [
  { head: t.order.number, cell: ({ id, external_id }) => <a href={`#/order/${id}`}>{external_id}</a> },
  { head: t.field.date, cell: ({ created_at }) => instant(created_at) },
  { head: t.field.store, cell: ({ store }) => store ?? '–' },
  { head: t.field.by, cell: ({ created_by }) => by(created_by) },
  { head: t.field.status, cell: ({ status }) => t.status[status] },
  { head: t.order.total, cell: ({ total }) => <Money of={total} />, isNumber: true },
  { head: t.order.redeemed, cell: ({ cashback: { to_redeem } }) => <Money of={to_redeem.redeemed} />, isNumber: true },
  {
    head: t.measure.earned,
    cell: (order) => (earnsNothing(order) ? '–' : <Money of={order.cashback.to_receive.amount} />),
    isNumber: true,
  },
  {
    head: t.order.cashback,
    cell: (order) => (earnsNothing(order) ? '–' : t.toReceive[order.cashback.to_receive.status]),
  },
];

/** What the team wrote about a grant, loaded when someone asks: an entry has only what the customer may see. */
function Note({ id }: { id: string }): JSX.Element {
  const [isOpen, open] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary>{t.grant.note}</summary>
      {isOpen && <NoteText id={id} />}
    </details>
  );
}

const NoteText = ({ id }: { id: string }): JSX.Element => (
  <Await of={useLoad((signal) => cashback.grants.get(id, { signal }), [id])} lines={1}>
    {({ note }) => note ?? '–'}
  </Await>
);

const Source = ({ type, id, external_id }: EntrySource): JSX.Element =>
  type === 'order' ? <a href={`#/order/${id}`}>{external_id}</a> : <>{external_id}</>;

const entryColumns: Column<Entry>[] = [
  { head: t.field.date, cell: ({ created_at }) => instant(created_at) },
  { head: t.entry.kind, cell: ({ kind }) => t.entryKind[kind] },
  {
    head: t.entry.source,
    cell: ({ order_id, order_external_id, refund_external_id, source }) => (
      <>
        {order_id ? <a href={`#/order/${order_id}`}>{order_external_id}</a> : source && <Source {...source} />}
        {refund_external_id && <small> {t.entry.refund(refund_external_id)}</small>}
      </>
    ),
  },
  {
    head: t.field.reason,
    cell: ({ kind, grant_id, reason }) => (
      <>
        {reason} {kind === 'grant' && grant_id && <Note id={grant_id} />}
      </>
    ),
  },
  { head: t.field.store, cell: ({ store }) => store ?? '–' },
  { head: t.field.by, cell: (entry) => by(entry.by) },
  { head: t.field.amount, cell: ({ amount }) => <Money of={amount} />, isNumber: true },
  { head: t.entry.balance, cell: ({ balance }) => <Money of={balance} />, isNumber: true },
];

function Lists({ wallet, session, version, onChange }: Props & { version: number }): JSX.Element {
  const { id, document } = wallet;
  return (
    <>
      {isDocument(document) && (session.can('sell') || session.can('reports')) && (
        <Section title={t.customer.orders}>
          <PagedTable
            caption={t.customer.orders}
            columns={orderColumns}
            list={(signal) => cashback.orders.search({ document, limit: 20 }, { signal })}
            on={[document, version]}
          />
        </Section>
      )}
      {id && (
        <>
          <Expiring id={id} version={version} />
          <Section title={t.customer.credits}>
            <PagedTable
              caption={t.customer.credits}
              columns={creditColumns(session, onChange)}
              list={(signal) => cashback.wallets.credits(id, {}, { signal })}
              on={[id, version]}
            />
          </Section>
          <Statement id={id} version={version} />
        </>
      )}
    </>
  );
}

const creditColumns = (session: Session, onChange: () => void): Column<Credit>[] => [
  {
    head: t.entry.source,
    cell: ({ source, ...credit }) =>
      source.type === 'order' ? (
        <>
          <a href={`#/order/${source.id}`}>{source.external_id}</a>{' '}
          {source.return && <small>{t.customer.returned}</small>}
        </>
      ) : (
        <>
          {source.reason ?? source.external_id}{' '}
          {session.can('grants') && credit.remaining !== '0.00' && (
            <Void
              id={source.id}
              name={source.reason ?? source.external_id}
              amount={credit.remaining}
              onDone={onChange}
            />
          )}
        </>
      ),
  },
  { head: t.field.store, cell: ({ store }) => store ?? '–' },
  { head: t.customer.availableOn, cell: ({ available_on }) => day(available_on) },
  { head: t.customer.expiresOn, cell: ({ expires_on }) => day(expires_on) },
  { head: t.field.amount, cell: ({ amount }) => <Money of={amount} />, isNumber: true },
  { head: t.customer.remaining, cell: ({ remaining }) => <Money of={remaining} />, isNumber: true },
  { head: t.customer.held, cell: ({ held }) => <Money of={held} />, isNumber: true },
];

const Void = ({
  id,
  name,
  amount,
  onDone,
}: {
  id: string;
  name: string;
  amount: string;
  onDone: () => void;
}): JSX.Element => (
  <Action
    label={t.grant.void}
    of={name}
    isDangerous
    onDone={onDone}
    work={async ({ reason }) =>
      t.grant.voided(money((await cashback.grants.void(id, reason ? { reason } : {})).voided))
    }
  >
    <p>{t.grant.voidText(money(amount))}</p>
    <Field name="reason" label={t.field.reason} optional />
  </Action>
);

function Expiring({ id, version }: { id: string; version: number }): JSX.Element {
  const months = useLoad((signal) => cashback.wallets.expiring(id, { months: 12 }, { signal }), [id, version]);
  return (
    <Await of={months} lines={5}>
      {({ data }) => (
        <Chart
          caption={t.customer.expiring}
          bars={data.map((row) => ({
            name: month(row.month),
            value: Number(row.expiring),
            text: money(row.expiring ?? '0.00'),
          }))}
        />
      )}
    </Await>
  );
}

function Statement({ id, version }: { id: string; version: number }): JSX.Element {
  const newest = useLoad((signal) => firstPage(cashback.wallets.entries(id, { limit: 1 }, { signal })), [id, version]);
  return (
    <Section title={t.customer.statement}>
      <PagedTable
        caption={t.customer.statement}
        columns={entryColumns}
        list={(signal) => cashback.wallets.entries(id, { limit: 50 }, { signal })}
        on={[id, version]}
      />
      {newest.data?.data[0] ? (
        <p class="sum">{t.customer.addsUp(money(newest.data.data[0].balance))}</p>
      ) : (
        newest.error === undefined && <Skeleton lines={1} />
      )}
    </Section>
  );
}
