import type { EntryKind, Order as OrderDto, Refund, TimelineLine } from '@cashback/client';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isDocument } from '../../../src/platform/values/document.js';
import { day, instant, money, percent, t } from '../format.js';
import { address, firstPage, useLoad } from '../hooks.js';
import { remember } from '../search.js';
import { cashback, type Session } from '../session.js';
import { actions, amount, reason, store, when, who, text } from '../columns.js';
import { type Column, PagedTable, Table } from '../table.js';
import {
  Await,
  Badge,
  by,
  Copy,
  Document,
  earnsNothing,
  Facts,
  Heading,
  Money,
  OrderBadge,
  Section,
  When,
  kindText,
} from '../ui.js';
import { itemsText, type OfOrder, Operations, VoidRefund } from './order-actions.js';

export function Order({ id, session }: { id: string; session: Session }): JSX.Element {
  const order = useLoad((signal) => cashback.orders.get(id, { signal }), [id]);
  const [version, changed] = useState(0);
  const document = order.data?.document;
  const wallet = useLoad(
    async (signal) => {
      if (document === undefined || !isDocument(document)) return undefined;
      const found = await cashback.wallets.search({ document }, { signal });
      const credits = found.id && (await firstPage(cashback.wallets.credits(found.id, { limit: 100 }, { signal })));
      // Of credits that are spent there is none. With more than a page of them, nobody knows.
      const own = credits && credits.data.find(({ source }) => source.id === id && !source.return);
      return { ...found, left: own ? own.remaining : credits && credits.next_cursor ? undefined : '0.00' };
    },
    [document, version],
  );
  const reload = (): void => {
    order.reload();
    changed(version + 1);
  };
  const number = order.data?.external_id;
  useEffect(() => {
    if (number) remember(address(`order/${id}`), t.order.title(number));
  }, [number]);
  return (
    <>
      <Heading title={number === undefined ? t.list.order : t.order.title(number)}>
        {order.data && <OrderBadge status={order.data.status} />}
      </Heading>
      <Await of={order} lines={12}>
        {(data) => (
          <>
            <Head order={data} walletId={wallet.data?.id} />
            <Told order={data} left={wallet.data?.left} />
            <Operations order={data} session={session} onChange={reload} />
            <div class="columns">
              <Cashback order={data} left={wallet.data?.left} />
              <Bought order={data} />
            </div>
            <Lists order={data} version={version} session={session} onChange={reload} />
          </>
        )}
      </Await>
    </>
  );
}

const Campaign = ({ id }: { id: string }): JSX.Element => {
  const { data } = useLoad((signal) => cashback.campaigns.get(id, { signal }), [id]);
  return <a href={address(`campaigns/${id}`)}>{data?.name ?? t.order.campaign}</a>;
};

const Head = ({ order, walletId }: { order: OrderDto; walletId: string | null | undefined }): JSX.Element => (
  <div class="stack">
    <p class="soft">
      <Document of={order.document} />{' '}
      {walletId && <a href={address(`customer/${walletId}`)}>{t.order.openCustomer}</a>} ·{' '}
      {order.sold_at ? (
        <>
          {t.order.sold} <When at={order.sold_at} /> · {t.order.arrived} <When at={order.created_at} />
        </>
      ) : (
        <When at={order.created_at} />
      )}{' '}
      · {order.store ?? t.noStore} · {by(order.created_by)}
      {order.campaign_id && (
        <>
          {' '}
          · <Campaign id={order.campaign_id} />
        </>
      )}
    </p>
    {order.customer_changed_at && (
      <p class="soft">
        {t.correct.done(instant(order.customer_changed_at), by(order.customer_changed_by))}{' '}
        {order.customer_change_reason}
      </p>
    )}
    {order.cancelled_at && order.cancel_reason && (
      <p class="soft">
        {t.status.cancelled}: {order.cancel_reason}
      </p>
    )}
  </div>
);

/** What to tell the customer who asks where the cashback is. */
function answerOf(order: OrderDto, left: string | undefined): string {
  const {
    external_id,
    cashback: { to_receive },
  } = order;
  const { amount, taken_back, available_on, expires_on } = to_receive;
  const status =
    order.status === 'expired'
      ? 'unpaid'
      : to_receive.status === 'available' && left === '0.00'
        ? 'spent'
        : to_receive.status;
  return t.answer[status]({
    left: left === undefined ? '–' : money(left),
    order: external_id,
    amount: money(amount),
    takenBack: money(taken_back),
    from: available_on ? day(available_on) : '–',
    through: expires_on ? day(expires_on) : '–',
  });
}

function Told(props: { order: OrderDto; left: string | undefined }): JSX.Element {
  const answer = answerOf(props.order, props.left);
  return (
    <blockquote>
      <p>{answer}</p> <Copy text={answer} />
    </blockquote>
  );
}

function Cashback({ order, left }: { order: OrderDto; left: string | undefined }): JSX.Element {
  const { to_redeem, to_receive } = order.cashback;
  const { taken_back, limited_by, expires_on, status } = to_receive;
  const used = (['held', 'lapsed', 'redeemed', 'returned'] as const).filter((name) => to_redeem[name] !== '0.00');
  return (
    <Section title={t.order.cashback}>
      <div class="card">
        <Facts
          of={[
            [
              t.order.earns,
              earnsNothing(order) ? '–' : <Money of={to_receive.amount} />,
              !earnsNothing(order) && ` ${t.toReceive[status]}`,
              limited_by && !earnsNothing(order) && <small>{t.earnLimitedBy[limited_by]}</small>,
              expires_on && order.completed_at && <small>{t.order.through(day(expires_on))}</small>,
            ],
            left !== undefined && order.completed_at !== null && [t.order.left, <Money of={left} />],
            taken_back !== '0.00' && [t.order.takenBack, <Money of={taken_back} />],
            ...used.map((name): [string, JSX.Element] => [t.order[name], <Money of={to_redeem[name]} />]),
            order.status === 'pending' && [
              t.order.maximum,
              <Money of={to_redeem.maximum} />,
              to_redeem.limited_by && <small>{t.limitedBy[to_redeem.limited_by]}</small>,
            ],
          ]}
        />
      </div>
    </Section>
  );
}

const itemColumns: Column<OrderDto['items'][number]>[] = [
  { head: t.order.item, cell: ({ id, description }) => description ?? id, isLead: true },
  { head: t.order.quantity, cell: ({ quantity }) => quantity, isNumber: true },
  amount(t.order.price, ({ price }) => price, true),
];

const Bought = ({ order }: { order: OrderDto }): JSX.Element => (
  <Section title={t.order.bought}>
    {order.items.length > 0 && <Table caption={t.order.bought} columns={itemColumns} rows={order.items} />}
    <div class="card">
      <Facts
        of={[
          [t.order.total, <Money of={order.total} />],
          order.cashback.to_redeem.redeemed !== '0.00' && [
            t.order.byCashback,
            <Money of={order.cashback.to_redeem.redeemed} />,
          ],
          order.eligible_total !== order.total && [t.order.eligible, <Money of={order.eligible_total} />],
          order.payment_methods.length !== 1 &&
            (order.completed_at !== null || order.status === 'pending') && [
              order.completed_at ? t.order.paid : t.order.toPay,
              <Money of={order.amount_to_pay} />,
            ],
          ...order.payment_methods.map(({ id, earn_rate, amount }): [string, JSX.Element, JSX.Element] => [
            t.paymentMethod[id] ?? id,
            <Money of={amount} />,
            <small>{earn_rate ? t.order.earnsRate(percent(earn_rate)) : t.order.ownRate}</small>,
          ]),
        ]}
      />
    </div>
  </Section>
);

const refundColumns = ({ order, session, onChange }: OfOrder): Column<Refund>[] => [
  when(({ created_at }) => created_at),
  {
    head: t.refund.items,
    cell: (refund) => (
      <>
        {itemsText(order, refund) || t.refund.byAmount}
        <small>{refund.external_id}</small>
      </>
    ),
    isLead: true,
  },
  {
    head: t.field.reason,
    cell: ({ reason, voided_at, voided_by, void_reason }) =>
      voided_at ? (
        <>
          <Badge tone="off" text={t.refund.undone} />
          <small>
            <When at={voided_at} /> · {by(voided_by)}
            {void_reason && ` · ${void_reason}`}
          </small>
          {reason && <small>{reason}</small>}
        </>
      ) : (
        (reason ?? '–')
      ),
  },
  store,
  who(({ created_by }) => created_by),
  amount(t.refund.payBackShort, ({ amount_to_pay_back }) => amount_to_pay_back),
  amount(t.refund.returnedShort, ({ cashback_returned }) => cashback_returned),
  amount(t.refund.takenBackShort, ({ cashback_taken_back }) => cashback_taken_back),
  amount(t.field.amount, ({ amount }) => amount, true),
  actions((refund) =>
    refund.voidable && session.can('refund') ? <VoidRefund refund={refund} onChange={onChange} /> : null,
  ),
];

const timelineColumns: Column<TimelineLine>[] = [
  when(({ at }) => at),
  text(
    t.order.what,
    ({ type, amount: of }) =>
      type in t.timeline ? t.timeline[type as keyof typeof t.timeline] : kindText(type as EntryKind, of ?? '0'),
    true,
  ),
  reason,
  store,
  who((line) => line.by),
  { head: t.field.amount, cell: ({ amount }) => amount && <Money of={amount} />, isNumber: true, isLead: true },
];

const Lists = (props: OfOrder & { version: number }): JSX.Element => {
  const { order, version } = props;
  return (
    <>
      {order.completed_at && (
        <Section title={t.order.refunds}>
          <PagedTable
            caption={t.order.refunds}
            columns={refundColumns(props)}
            list={(signal) => cashback.refunds.list(order.id, {}, { signal })}
            on={[order.id, version]}
            empty={t.refund.none}
          />
        </Section>
      )}
      <Section title={t.order.timeline}>
        <PagedTable
          caption={t.order.timeline}
          columns={timelineColumns}
          list={(signal) => cashback.orders.timeline(order.id, { limit: 100 }, { signal })}
          on={[order.id, version]}
        />
      </Section>
    </>
  );
};
