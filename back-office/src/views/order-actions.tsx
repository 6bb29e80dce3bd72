import type { Order as OrderDto, OrderOperation, Refund, RefundQuote } from '@cashback/client';
import { toCentavos } from '@cashback/client/money';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { hasValidCheckDigits } from '../../../src/platform/values/document.js';
import { amountOf, documentOf, documentText, instant, money, staffId, t } from '../format.js';
import { Action, Either, Field } from '../form.js';
import { firstPage, useLoad, type Values } from '../hooks.js';
import { cashback, type Session } from '../session.js';
import { Facts, InputError, Money } from '../ui.js';

interface OperationProps {
  order: OrderDto;
  onChange: () => void;
}

export type OfOrder = OperationProps & { session: Session };

/** What the order's status allows, as far as the user may do it. */
export function Operations({ order, session, onChange }: OfOrder): JSX.Element {
  const offers = (operation: OrderOperation): boolean => order.operations.includes(operation);
  // What is held is of the customer: the till that holds it must release it before.
  const canAmend = offers('amend') && session.can('sell') && order.cashback.to_redeem.held === '0.00';
  const canCorrect = (offers('change_customer') && session.can('customers')) || canAmend;
  const isPast = order.completed_at !== null && order.customer_changed_at === null && !offers('change_customer');
  return (
    <>
      <p class="buttons actions" role="group" aria-label={t.order.operations}>
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
      </p>
      {isPast && session.can('customers') && <p class="soft">{t.correct.tooLate}</p>}
    </>
  );
}

function Complete({ order, onChange }: OperationProps): JSX.Element {
  const { held, lapsed } = order.cashback.to_redeem;
  const isLapsed = lapsed !== '0.00';
  return (
    <Action
      label={t.complete.button}
      isPrimary
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
        // It works once, and nobody has such a CPF.
        if (!known && !hasValidCheckDigits(document)) throw new InputError(t.correct.digits);
        return (
          <>
            <p>{t.correct.preview(documentText(order.document, false), documentText(document, false))}</p>
            {!known && <p class="warning">{t.correct.unknown}</p>}
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
          return t.correct.moved(money(moved), not_moved === '0.00' ? null : money(not_moved));
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
    if (values[`item-${index}`] === undefined) continue;
    const quantity = Number(values[`quantity-${index}`] ?? 1);
    quantities.set(id, (quantities.get(id) ?? 0) + quantity);
  }
  const items = [...quantities].map(([id, quantity]) => ({ id, quantity }));
  if (items.length === 0 && !values.rest) throw new InputError(t.refund.choose);
  return { ...(items.length > 0 && { items }), ...(values.rest && { rest: true }), ...take_back };
}

/** An item that comes back, and how many of it. */
function Item({ item, index }: { item: OrderDto['items'][number]; index: number }): JSX.Element {
  const [isChosen, choose] = useState(false);
  const { id, description, quantity, price } = item;
  const name = description ?? id;
  return (
    <div class="item">
      <label class="check">
        <input type="checkbox" name={`item-${index}`} onChange={({ currentTarget }) => choose(currentTarget.checked)} />
        {t.refund.item(name, quantity, money(price))}
      </label>
      {isChosen && quantity > 1 && (
        <input
          type="number"
          name={`quantity-${index}`}
          aria-label={t.refund.quantityOf(name)}
          min="1"
          max={quantity}
          defaultValue={quantity}
          required
        />
      )}
    </div>
  );
}

/** What came back, for people. */
export function itemsText(order: OrderDto, { items, rest }: Refund): string {
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

/** Whether the total has something beyond the items, such as shipping. */
const hasRest = ({ items, total }: OrderDto): boolean =>
  items.reduce((sum, { price, quantity }) => sum + toCentavos(price) * BigInt(quantity), 0n) < toCentavos(total);

function RefundAction({ order, onChange }: OperationProps): JSX.Element {
  const [how, choose] = useState<'items' | 'amount'>(order.items.length > 0 ? 'items' : 'amount');
  // Refused if nothing of it is left.
  const rest = useLoad(
    (signal) => (hasRest(order) ? cashback.refunds.quote(order.id, { rest: true }, { signal }) : Promise.resolve(null)),
    [order.version],
  );
  return (
    <Action
      label={t.refund.button}
      of={t.order.title(order.external_id)}
      isPrimary
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
      {order.items.length > 0 && (
        <Either
          legend={t.refund.how}
          options={[
            ['items', t.refund.byItems],
            ['amount', t.refund.byAmount],
          ]}
          chosen={how}
          choose={choose}
        />
      )}
      {how === 'items' ? (
        <div>
          {order.items.map((item, index) => (
            <Item key={index} item={item} index={index} />
          ))}
          {rest.data && (
            <label class="check item">
              <input type="checkbox" name="rest" value="yes" /> {t.refund.rest(money(rest.data.amount))}
            </label>
          )}
        </div>
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

/** Undoes the refund of a wrong order, while nothing has come after it. */
export const VoidRefund = ({ refund, onChange }: { refund: Refund; onChange: () => void }): JSX.Element => (
  <Action
    label={t.refund.undo}
    of={t.order.title(refund.order_external_id)}
    isDangerous
    onDone={onChange}
    work={async ({ reason }) =>
      void (await cashback.refunds.void(refund.order_id, refund.id, reason ? { reason } : {}))
    }
  >
    <p>{t.refund.undoText}</p>
    <Facts
      of={[
        [t.refund.amount, <Money of={refund.amount} />],
        [t.refund.payBackUndone, <Money of={refund.amount_to_pay_back} />],
        [t.refund.returnedUndone, <Money of={refund.cashback_returned} />],
        [t.refund.takenBackUndone, <Money of={refund.cashback_taken_back} />],
      ]}
    />
    <Field name="reason" label={t.field.reason} optional />
  </Action>
);
