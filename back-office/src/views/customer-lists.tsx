import type { Credit, CreditSource, Debit, Entry, EntrySource, Order } from '@cashback/client';
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isDocument } from '../../../src/platform/values/document.js';
import { now } from '../clock.js';
import { count, money, t } from '../format.js';
import { Action, Field } from '../form.js';
import { firstPage, mapped, useFilters, useLoad } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { actions, amount, note, onDay, OrderLink, reason, store, when, who, text } from '../columns.js';
import { type Column, PagedTable } from '../table.js';
import { Await, Badge, by, Chips, earnsNothing, Empty, Money, OrderBadge, Skeleton, When, kindText } from '../ui.js';
import { Grant, type OfCustomer } from './customer-actions.js';

const orderColumns: Column<Order>[] = [
  {
    head: t.order.number,
    cell: ({ id, external_id }) => <OrderLink id={id} number={external_id} />,
    isLead: true,
  },
  when(({ created_at }) => created_at),
  { head: t.field.status, cell: ({ status }) => <OrderBadge status={status} /> },
  store,
  who(({ created_by }) => created_by),
  {
    head: t.measure.earned,
    cell: (order) => (earnsNothing(order) ? '–' : <Money of={order.cashback.to_receive.amount} />),
    isNumber: true,
  },
  {
    head: t.order.cashback,
    cell: (order) => (earnsNothing(order) ? '–' : t.toReceive[order.cashback.to_receive.status]),
  },
  { head: t.order.redeemed, cell: ({ cashback: { to_redeem } }) => <Money of={to_redeem.redeemed} />, isNumber: true },
  amount(t.order.total, ({ total }) => total, true),
];

export const Orders = ({ wallet: { document }, version }: OfCustomer): JSX.Element => (
  <PagedTable
    caption={t.customer.tabs.orders}
    columns={orderColumns}
    list={(signal) => cashback.orders.search({ document, limit: 20 }, { signal })}
    on={[document, version]}
    empty={t.customer.noOrders}
  />
);

const Source = ({ type, id, external_id, note }: EntrySource & { note?: ComponentChildren }): JSX.Element => (
  <>
    {type === 'order' ? <OrderLink id={id} number={external_id} /> : t.entry.grant}
    {note && <small>{note}</small>}
  </>
);

/** @returns what expired of credits, as far as the last hundred lines of the statement know */
const expiredOf = (id: string, signal: AbortSignal): Promise<Map<string | null, string>> =>
  firstPage(cashback.wallets.entries(id, { limit: 100 }, { signal })).then(
    ({ data }) =>
      new Map(
        data
          .filter(({ kind }) => kind === 'expire')
          .map(({ credit_id, amount }) => [credit_id, amount.replace('-', '')]),
      ),
  );

export function Credits(props: OfCustomer): JSX.Element {
  const { wallet, session, version } = props;
  const [{ credits }, filter] = useFilters({ credits: 'open' });
  const status = credits === 'all' ? 'all' : 'open';
  const id = wallet.id ?? '';
  const expired = useLoad(
    (signal) => (status === 'all' && id ? expiredOf(id, signal) : Promise.resolve(new Map<string, string>())),
    [id, status, version],
  );
  return (
    <>
      <Chips
        label={t.customer.tabs.credits}
        options={(['open', 'all'] as const).map((name) => [name, t.customer.creditsOf[name]])}
        at={status}
        choose={(name) => filter({ credits: name === 'all' ? name : '' })}
      />
      {id === '' ? (
        <Empty>{t.customer.noCredits}</Empty>
      ) : (
        <Await of={expired}>
          {(amounts) => (
            <PagedTable
              caption={t.customer.tabs.credits}
              columns={creditColumns(props, amounts)}
              list={(signal) => cashback.wallets.credits(id, { status }, { signal })}
              on={[id, version, status, session.me.user_id, amounts]}
              empty={t.customer.noCredits}
            />
          )}
        </Await>
      )}
    </>
  );
}

/** Whether a credit can be used, or why it cannot. */
function CreditState({ credit, expired }: { credit: Credit; expired: string | undefined }): JSX.Element {
  const { state } = t.customer;
  if (expired !== undefined) return <Badge tone="off" text={state.expired(money(expired))} />;
  if (credit.remaining === '0.00')
    return <Badge tone="off" text={new Date(credit.expires_at) < now() ? state.past : state.spent} />;
  return new Date(credit.available_at) > now() ? (
    <Badge tone="wait" text={state.pending} />
  ) : (
    <Badge tone="good" text={state.available} />
  );
}

const creditColumns = (props: OfCustomer, expired: Map<string | null, string>): Column<Credit>[] => [
  {
    head: t.entry.source,
    cell: ({ source, store }) => (
      <Source
        {...source}
        store={store}
        note={source.return ? t.customer.returned : source.type === 'grant' && (source.reason ?? source.external_id)}
      />
    ),
    isLead: true,
  },
  { head: t.field.status, cell: (credit) => <CreditState credit={credit} expired={expired.get(credit.id)} /> },
  store,
  onDay(t.customer.availableOn, ({ available_on }) => available_on),
  onDay(t.customer.expiresOn, ({ expires_on }) => expires_on),
  amount(t.field.amount, ({ amount }) => amount),
  amount(t.customer.held, ({ held }) => held),
  amount(t.customer.remaining, ({ remaining }) => remaining, true),
  actions((credit) => creditActions({ ...props, credit, expired: expired.get(credit.id) })),
];

function creditActions(props: OfCustomer & { credit: Credit; expired: string | undefined }): JSX.Element | null {
  const { credit, expired, session, wallet, onChange } = props;
  const { source, remaining } = credit;
  if (!session.can('grants') || !isDocument(wallet.document)) return null;
  if (expired !== undefined)
    return (
      <GrantAgain
        {...props}
        again={{ creditId: credit.id, of: nameOf(source), amount: expired, store: credit.store }}
      />
    );
  if (source.type !== 'grant' || remaining === '0.00') return null;
  return (
    <Action
      label={t.grant.void}
      of={source.reason ?? source.external_id}
      isDangerous
      onDone={onChange}
      work={async ({ reason }) =>
        t.grant.voided(money((await cashback.grants.void(source.id, reason ? { reason } : {})).voided))
      }
    >
      <p>{t.grant.voidText(money(remaining))}</p>
      <Field name="reason" label={t.field.reason} optional />
    </Action>
  );
}

const nameOf = ({
  type,
  external_id,
  reason,
}: Pick<CreditSource, 'type' | 'external_id'> & { reason?: string | null }): string =>
  type === 'order' ? external_id : (reason ?? t.entry.grant);

/** No date is ever renewed: what expired is granted again, with the name of who did it. */
const GrantAgain = (props: OfCustomer & Pick<Parameters<typeof Grant>[0], 'again'>): JSX.Element => (
  <Grant {...props} label={t.grant.again} />
);

/** The lines of one change, of which each credit has one. They are in the list of all lines, newest first. */
async function linesOf(walletId: string, change: Entry, signal: AbortSignal): Promise<Entry[]> {
  const first = change.seq - change.lines + 1;
  const lines: Entry[] = [];
  for await (const { data } of cashback.wallets.entries(walletId, { limit: 100 }, { signal }).pages()) {
    lines.push(...data.filter(({ seq }) => seq >= first && seq <= change.seq));
    if (data.some(({ seq }) => seq <= first)) break;
  }
  return lines;
}

const Lines = ({ walletId, change }: { walletId: string; change: Entry }): JSX.Element => (
  <Await of={useLoad((signal) => linesOf(walletId, change, signal), [change.seq])} lines={change.lines}>
    {(lines) => (
      <ul>
        {lines.map(({ seq, amount, source }) => (
          <li key={seq}>
            {source && <Source {...source} />} <Money of={amount} />
          </li>
        ))}
      </ul>
    )}
  </Await>
);

function Opened({ walletId, change }: { walletId: string; change: Entry }): JSX.Element {
  const [isOpen, open] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary>{t.entry.lines(count(change.lines))}</summary>
      {isOpen && <Lines walletId={walletId} change={change} />}
    </details>
  );
}

const entryColumns = (props: OfCustomer & { id: string }): Column<Entry>[] => [
  when(({ created_at }) => created_at),
  text(t.entry.kind, ({ kind, amount }) => kindText(kind, amount), true),
  {
    head: t.entry.source,
    cell: (entry) =>
      // A grant is its own source.
      entry.kind === 'grant' ? null : (
        <>
          {entry.order_id ? (
            <OrderLink id={entry.order_id} number={entry.order_external_id} />
          ) : (
            entry.source && <Source {...entry.source} />
          )}
          {entry.refund_external_id && <small>{t.entry.refund(entry.refund_external_id)}</small>}
          {entry.sold_at && <small>{t.entry.sold(<When at={entry.sold_at} />)}</small>}
          {entry.lines > 1 && <Opened walletId={props.id} change={entry} />}
        </>
      ),
  },
  reason,
  store,
  who((entry) => entry.by),
  amount(t.field.amount, ({ amount }) => amount, true),
  { head: t.entry.balance, cell: ({ balance }) => <span class="money">{money(balance)}</span>, isNumber: true },
  actions(({ kind, amount, source, credit_id }) =>
    kind === 'expire' && credit_id && source && props.session.can('grants') && isDocument(props.wallet.document) ? (
      <GrantAgain
        {...props}
        again={{ creditId: credit_id, of: nameOf(source), amount: amount.replace('-', ''), store: source.store }}
      />
    ) : null,
  ),
];

export function Statement(props: OfCustomer): JSX.Element {
  const { wallet, version } = props;
  const id = wallet.id ?? '';
  const newest = useLoad(
    (signal) => (id ? firstPage(cashback.wallets.entries(id, { limit: 1 }, { signal })) : Promise.resolve(null)),
    [id, version],
  );
  if (id === '') return <Empty>{t.customer.noEntries}</Empty>;
  const last = newest.data?.data[0];
  return (
    <>
      {last ? (
        <p class="soft">
          {t.customer.addsUp(
            (['available', 'pending', 'held'] as const)
              .filter((name) => wallet[name] !== '0.00')
              .map((name) => [t.customer[name], money(wallet[name])]),
            money(last.balance),
          )}
        </p>
      ) : (
        newest.error === undefined && <Skeleton lines={1} />
      )}
      <PagedTable
        caption={t.customer.tabs.statement}
        columns={entryColumns({ ...props, id })}
        list={(signal) => cashback.wallets.entries(id, { limit: 50, by: 'change' }, { signal })}
        on={[id, version]}
        empty={t.customer.noEntries}
      />
    </>
  );
}

/** What the team wrote, with who and when. */
interface Note {
  at: string;
  what: string;
  amount?: string;
  reason: string | null;
  note?: string | null;
  who: string;
  debit?: Debit;
}

/** @returns what the team wrote about a change; undefined if it is nobody's */
async function noteOf(entry: Entry, signal: AbortSignal): Promise<Note | undefined> {
  const { kind, grant_id, debit_id, order_id, refund_id, amount } = entry;
  const shown = { at: entry.created_at, what: t.entryKind[kind], amount, who: by(entry.by) };
  if (grant_id && kind === 'grant') {
    const { reason, note } = await cashback.grants.get(grant_id, { signal });
    return { ...shown, reason, note };
  }
  if (grant_id && kind === 'void')
    return { ...shown, reason: (await cashback.grants.get(grant_id, { signal })).void_reason };
  if (debit_id) {
    const debit = await cashback.debits.get(debit_id, { signal });
    const isUndone = !amount.startsWith('-');
    if (isUndone) return { ...shown, what: t.debit.undone, reason: debit.void_reason };
    return { ...shown, reason: debit.reason, note: debit.note, debit };
  }
  if (order_id && refund_id && (kind === 'return' || kind === 'take_back')) {
    const refund = await cashback.refunds.get(order_id, refund_id, { signal });
    // The second time, it was undone.
    const isUndone = refund.voided_at !== null && entry.created_at >= refund.voided_at;
    if (isUndone) return { ...shown, what: t.timeline.refund_voided, reason: refund.void_reason };
    return { ...shown, what: t.entry.refund(refund.external_id), reason: refund.reason };
  }
  return undefined;
}

export function Notes(props: OfCustomer): JSX.Element {
  const { wallet, version } = props;
  const id = wallet.id ?? '';
  if (id === '') return <Empty>{t.customer.noNotes}</Empty>;
  return (
    <>
      {wallet.freeze_changed_at && (
        <p class="card">
          {wallet.frozen ? t.freeze.done : t.freeze.undone} · <When at={wallet.freeze_changed_at} /> ·{' '}
          {by(wallet.freeze_changed_by)}: {wallet.freeze_reason}
        </p>
      )}
      <PagedTable
        caption={t.customer.tabs.notes}
        columns={noteColumns(props)}
        list={(signal) =>
          mapped(cashback.wallets.entries(id, { limit: 50, by: 'change' }, { signal }), async (entries) => {
            const notes = await Promise.all(entries.map((entry) => noteOf(entry, signal)));
            return notes.filter((note) => note !== undefined);
          })
        }
        on={[id, version]}
        empty={t.customer.noNotes}
      />
    </>
  );
}

const noteColumns = ({ session, onChange }: { session: Session; onChange: () => void }): Column<Note>[] => [
  when(({ at }) => at),
  { head: t.order.what, cell: ({ what }) => what, isLead: true },
  reason,
  note,
  { head: t.field.by, cell: ({ who }) => who },
  { head: t.field.amount, cell: ({ amount }) => amount && <Money of={amount} />, isNumber: true, isLead: true },
  actions(({ debit }) =>
    debit && !debit.voided_at && session.can('debits') ? (
      <Action
        label={t.debit.undo}
        of={debit.reason ?? debit.external_id}
        onDone={onChange}
        work={async ({ reason }) => {
          const { restored, not_restored } = await cashback.debits.void(debit.id, reason ? { reason } : {});
          return t.debit.restored(money(restored), not_restored === '0.00' ? null : money(not_restored));
        }}
      >
        <p>{t.debit.undoText(money(debit.amount))}</p>
        <Field name="reason" label={t.field.reason} optional />
      </Action>
    ) : null,
  ),
];
