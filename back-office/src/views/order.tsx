import type { Order as OrderDto, OrderOperation, Refund, RefundQuote, TimelineLine } from '@cashback/client';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { hasValidCheckDigits, isDocument } from '../../../src/platform/values/document.js';
import { amountOf, day, documentOf, documentText, instant, money, percent, staffId, t } from '../format.js';
import { firstPage, useLoad, type Values } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { Action, Field } from '../form.js';
import { type Column, PagedTable, Table } from '../table.js';
import { Await, by, Copy, Document, earnsNothing, Facts, InputError, Money, Section } from '../ui.js';

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
  return (
    <Await of={order} lines={10}>
      {(data) => (
        <>
          <h1>
            {t.order.title(data.external_id)} <span class={`badge ${data.status}`}>{t.status[data.status]}</span>
          </h1>
          <Head order={data} walletId={wallet.data?.id} />
          <Operations order={data} session={session} onChange={reload} />
          <Cashback order={data} left={wallet.data?.left} />
          <Bought order={data} />
          <Lists order={data} version={version} />
        </>
      )}
    </Await>
  );
}

const Head = ({ order, walletId }: { order: OrderDto; walletId: string | null | undefined }): JSX.Element => (
  <>
    <p class="bar">
      <Document of={order.document} />
      {walletId && <a href={`#/customer/${walletId}`}>{t.order.openCustomer}</a>}
      <span>
        {instant(order.created_at)} · {order.store ?? t.noStore} · {by(order.created_by)}
      </span>
    </p>
    {order.customer_changed_at && (
      <p class="soft">
        {t.correct.done(instant(order.customer_changed_at), by(order.customer_changed_by))}{' '}
        {order.customer_change_reason}
      </p>
    )}
  </>
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

function Cashback({ order, left }: { order: OrderDto; left: string | undefined }): JSX.Element {
  const { to_redeem, to_receive } = order.cashback;
  const { taken_back, limited_by, expires_on, status } = to_receive;
  const used = (['held', 'lapsed', 'redeemed', 'returned'] as const).filter((name) => to_redeem[name] !== '0.00');
  const answer = answerOf(order, left);
  return (
    <Section title={t.order.cashback}>
      <blockquote>
        {answer} <Copy text={answer} />
      </blockquote>
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
    </Section>
  );
}

const itemColumns: Column<OrderDto['items'][number]>[] = [
  { head: t.order.item, cell: ({ id, description }) => description ?? id },
  { head: t.order.quantity, cell: ({ quantity }) => quantity, isNumber: true },
  { head: t.order.price, cell: ({ price }) => <Money of={price} />, isNumber: true },
];

const paymentColumns: Column<OrderDto['payment_methods'][number]>[] = [
  { head: t.order.payment, cell: ({ id }) => t.paymentMethod[id] ?? id },
  { head: t.order.rate, cell: ({ earn_rate }) => (earn_rate ? percent(earn_rate) : t.order.ownRate), isNumber: true },
  { head: t.field.amount, cell: ({ amount }) => <Money of={amount} />, isNumber: true },
];

const Bought = ({ order }: { order: OrderDto }): JSX.Element => (
  <Section title={t.order.bought}>
    <Table caption={t.order.bought} columns={itemColumns} rows={order.items} />
    <Facts
      of={[
        [t.order.total, <Money of={order.total} />],
        [t.order.eligible, <Money of={order.eligible_total} />],
        (order.completed_at !== null || order.status === 'pending') && [
          order.completed_at ? t.order.paid : t.order.toPay,
          <Money of={order.amount_to_pay} />,
        ],
      ]}
    />
    {order.payment_methods.length > 0 && (
      <Table caption={t.order.payment} columns={paymentColumns} rows={order.payment_methods} />
    )}
  </Section>
);

const refundColumns = (order: OrderDto): Column<Refund>[] => [
  { head: t.field.date, cell: ({ created_at }) => instant(created_at) },
  { head: t.order.number, cell: ({ external_id }) => external_id },
  { head: t.refund.items, cell: (refund) => itemsText(order, refund) || '–' },
  { head: t.field.reason, cell: ({ reason }) => reason },
  { head: t.field.store, cell: ({ store }) => store ?? '–' },
  { head: t.field.by, cell: ({ created_by }) => by(created_by) },
  { head: t.field.amount, cell: ({ amount }) => <Money of={amount} />, isNumber: true },
  { head: t.refund.payBackShort, cell: ({ amount_to_pay_back }) => <Money of={amount_to_pay_back} />, isNumber: true },
  { head: t.refund.returnedShort, cell: ({ cashback_returned }) => <Money of={cashback_returned} />, isNumber: true },
  {
    head: t.refund.takenBackShort,
    cell: ({ cashback_taken_back }) => <Money of={cashback_taken_back} />,
    isNumber: true,
  },
];

const timelineColumns: Column<TimelineLine>[] = [
  { head: t.field.date, cell: ({ at }) => instant(at) },
  { head: t.order.what, cell: ({ type }) => ({ ...t.entryKind, ...t.timeline })[type] },
  { head: t.field.amount, cell: ({ amount }) => amount && <Money of={amount} />, isNumber: true },
  { head: t.field.reason, cell: ({ reason }) => reason },
  { head: t.field.store, cell: ({ store }) => store ?? '–' },
  { head: t.field.by, cell: (line) => by(line.by) },
];

const Lists = ({ order, version }: { order: OrderDto; version: number }): JSX.Element => (
  <>
    <Section title={t.order.timeline}>
      <PagedTable
        caption={t.order.timeline}
        columns={timelineColumns}
        list={(signal) => cashback.orders.timeline(order.id, { limit: 100 }, { signal })}
        on={[order.id, version]}
      />
    </Section>
    <Section title={t.order.refunds}>
      <PagedTable
        caption={t.order.refunds}
        columns={refundColumns(order)}
        list={(signal) => cashback.refunds.list(order.id, {}, { signal })}
        on={[order.id, version]}
      />
    </Section>
  </>
);

interface OperationProps {
  order: OrderDto;
  onChange: () => void;
}

/** What the order's status allows, as far as the user may do it. */
function Operations({ order, session, onChange }: OperationProps & { session: Session }): JSX.Element {
  const offers = (operation: OrderOperation): boolean => order.operations.includes(operation);
  // What is held is of the customer: the till that holds it must release it before.
  const canAmend = offers('amend') && session.can('sell') && order.cashback.to_redeem.held === '0.00';
  const canCorrect = (offers('change_customer') && session.can('customers')) || canAmend;
  const isPast = order.completed_at !== null && order.customer_changed_at === null && !offers('change_customer');
  return (
    <p class="buttons" role="group" aria-label={t.order.operations}>
      {offers('complete') && session.can('sell') && <Complete order={order} onChange={onChange} />}
      {offers('refund') && session.can('refund') && <RefundAction order={order} onChange={onChange} />}
      {canCorrect && <Correct order={order} onChange={onChange} />}
      {offers('hold') && session.can('sell') && order.cashback.to_redeem.held !== '0.00' && (
        <Action
          label={t.release.button}
          of={t.order.title(order.external_id)}
          onDone={onChange}
          work={async () => void (await cashback.orders.hold(order.id, { amount: '0.00' }))}
        >
          <p>{t.release.text(money(order.cashback.to_redeem.held))}</p>
        </Action>
      )}
      {offers('cancel') && session.can('sell') && (
        <Action
          label={t.cancel.button}
          of={t.order.title(order.external_id)}
          isDangerous
          onDone={onChange}
          work={async ({ reason }) => void (await cashback.orders.cancel(order.id, reason ? { reason } : {}))}
        >
          <p>{t.cancel.text(money(order.cashback.to_redeem.held))}</p>
          <Field name="reason" label={t.field.reason} optional />
        </Action>
      )}
      {isPast && session.can('customers') && <small>{t.correct.tooLate}</small>}
    </p>
  );
}

function Complete({ order, onChange }: OperationProps): JSX.Element {
  const { held, lapsed } = order.cashback.to_redeem;
  const isLapsed = lapsed !== '0.00';
  return (
    <Action
      label={t.complete.button}
      of={t.order.title(order.external_id)}
      onDone={onChange}
      work={async ({ redeem }) => void (await cashback.orders.complete(order.id, redeem ? { redeem } : {}))}
    >
      <p>{isLapsed ? t.complete.lapsed(money(lapsed)) : t.complete.text(money(held))}</p>
      {isLapsed && (
        <Field
          name="redeem"
          label={t.complete.charged}
          options={[
            ['0.00', t.complete.everything(money(order.total))],
            [lapsed, t.complete.less(money(lapsed))],
          ]}
        />
      )}
    </Action>
  );
}

/** Before an order is completed, its customer is changed with its content. */
function Correct({ order, onChange }: OperationProps): JSX.Element {
  const { id, items, total, eligible_total, earn_amount, store, metadata, version } = order;
  return (
    <Action
      label={t.correct.button}
      of={t.order.title(order.external_id)}
      onDone={onChange}
      preview={async (values) => {
        const document = documentOf(values.document ?? '');
        const { id: known } = await cashback.wallets.search({ document });
        return (
          <>
            <p>{t.correct.preview(documentText(order.document, false), documentText(document, false))}</p>
            {!known && <p class="warning">{t.correct.unknown}</p>}
            {!hasValidCheckDigits(document) && <p class="warning">{t.correct.digits}</p>}
          </>
        );
      }}
      work={async (values) => {
        const document = documentOf(values.document ?? '');
        if (order.operations.includes('change_customer')) {
          const { moved, not_moved } = await cashback.orders.changeCustomer(id, {
            document,
            reason: values.reason ?? '',
          });
          return t.correct.moved(money(moved), money(not_moved));
        }
        const payment_methods = order.payment_methods.map((method) => ({ id: method.id, amount: method.amount }));
        const content = { items, total, eligible_total, payment_methods, metadata, document };
        await cashback.orders.amend(
          id,
          { ...content, ...(earn_amount && { earn_amount }), ...(store && { store }) },
          { ifMatch: version },
        );
      }}
    >
      <p>{t.correct.text}</p>
      <Field name="document" label={t.field.document} inputMode="numeric" />
      {order.completed_at && <Field name="reason" label={t.field.reason} />}
    </Action>
  );
}

/** What came back before, so that nobody refunds it twice. */
function Before({ order }: { order: OrderDto }): JSX.Element {
  const refunds = useLoad((signal) => firstPage(cashback.refunds.list(order.id, {}, { signal })), [order.version]);
  return (
    <>
      <p class="warning">{t.refund.before(money(order.refunded.amount))}</p>
      <ul>
        {refunds.data?.data.map((refund) => (
          <li key={refund.id}>
            {[instant(refund.created_at), money(refund.amount), itemsText(order, refund), refund.reason]
              .filter(Boolean)
              .join(' · ')}
          </li>
        ))}
      </ul>
    </>
  );
}

/** What the form asks for: items or an amount. */
function askedFor(order: OrderDto, values: Values): Parameters<typeof cashback.refunds.quote>[1] {
  const take_back = values.take_back && { take_back: amountOf(values.take_back, 'take_back') };
  if (values.amount !== undefined) {
    const eligible_amount = values.eligible_amount && {
      eligible_amount: amountOf(values.eligible_amount, 'eligible_amount'),
    };
    return { amount: amountOf(values.amount), ...eligible_amount, ...take_back };
  }
  // An order can have several items with one ID.
  const quantities = new Map<string, number>();
  for (const [index, { id }] of order.items.entries()) {
    const quantity = Number(values[`item-${index}`]);
    if (quantity > 0) quantities.set(id, (quantities.get(id) ?? 0) + quantity);
  }
  const items = [...quantities].map(([id, quantity]) => ({ id, quantity }));
  if (items.length === 0 && !values.rest) throw new InputError(t.refund.choose);
  return { ...(items.length > 0 && { items }), ...(values.rest && { rest: true }), ...take_back };
}

/** What came back, for people. */
function itemsText(order: OrderDto, { items, rest }: Refund): string {
  const nameOf = (id: string): string => order.items.find((item) => item.id === id)?.description ?? id;
  const texts = items.map(({ id, quantity }) => `${quantity} × ${nameOf(id)}`);
  return [...texts, ...(rest ? [t.refund.restOnly] : [])].join(', ');
}

const QuoteFacts = ({ quote }: { quote: RefundQuote }): JSX.Element => (
  <>
    <Facts
      of={[
        [t.refund.amount, <Money of={quote.amount} />],
        [t.refund.payBack, <Money of={quote.amount_to_pay_back} />],
        [t.refund.returned, <Money of={quote.cashback_returned} />],
        [t.refund.takenBack, <Money of={quote.cashback_taken_back} />],
      ]}
    />
    {quote.cashback_taken_back !== '0.00' && <p class="soft">{t.refund.takenFrom}</p>}
  </>
);

function RefundAction({ order, onChange }: OperationProps): JSX.Element {
  const [byItems, setByItems] = useState(true);
  // Refused if the total has nothing beyond the items.
  const rest = useLoad((signal) => cashback.refunds.quote(order.id, { rest: true }, { signal }), [order.version]);
  return (
    <Action
      label={t.refund.button}
      of={t.order.title(order.external_id)}
      isDangerous
      onDone={onChange}
      preview={async (values) => <QuoteFacts quote={await cashback.refunds.quote(order.id, askedFor(order, values))} />}
      work={async ({ reason, store, ...values }, id) => {
        const told = { ...(reason && { reason }), ...(store && { store }) };
        const refund = { external_id: staffId(id), ...askedFor(order, values), ...told };
        // Another refund meanwhile would change what was shown.
        await cashback.refunds.create(order.id, refund, { ifMatch: order.version });
      }}
    >
      {order.refunded.amount !== '0.00' && <Before order={order} />}
      <fieldset class="choice">
        <legend>{t.refund.how}</legend>
        {[true, false].map((choice) => (
          <label key={String(choice)}>
            <input type="radio" name="how" checked={byItems === choice} onChange={() => setByItems(choice)} />
            {choice ? t.refund.byItems : t.refund.byAmount}
          </label>
        ))}
      </fieldset>
      {byItems ? (
        <>
          {order.items.map(({ id, description, quantity, price }, index) => (
            <p class="item" key={index}>
              <label for={`item-${index}`}>{t.refund.item(description ?? id, quantity, money(price))}</label>
              <input
                id={`item-${index}`}
                name={`item-${index}`}
                type="number"
                min="0"
                max={quantity}
                defaultValue="0"
              />
            </p>
          ))}
          {rest.data && (
            <label class="check">
              <input type="checkbox" name="rest" value="yes" /> {t.refund.rest(money(rest.data.amount))}
            </label>
          )}
        </>
      ) : (
        <>
          <Field name="amount" label={t.refund.amount} inputMode="decimal" />
          <Field
            name="eligible_amount"
            label={t.refund.eligible}
            hint={t.refund.eligibleHint}
            inputMode="decimal"
            optional
          />
        </>
      )}
      {order.earn_amount !== null && <Field name="take_back" label={t.refund.takeBack} inputMode="decimal" optional />}
      <Field name="reason" label={t.field.reason} suggestions={t.refund.reasons} optional />
      <Field name="store" label={t.refund.store} value={order.store ?? undefined} optional />
    </Action>
  );
}
