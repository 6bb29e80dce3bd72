import { formatMoney, parseMoney, sumCents } from '../common/money.js';
import { type Fault, Problem } from '../common/problem.js';
import type { CreateOrderDto, PaymentMethodDto } from './dto/create-order.dto.js';
import type { Order, OrderPaymentMethod } from './order.entity.js';

/** The part of an order that the caller decides. */
export type RequestedOrder = Pick<Order, 'externalId' | 'document' | 'totalCents' | 'items' | 'paymentMethods'>;

/**
 * Reads a request whose members are valid each by itself.
 *
 * @throws Problem payments_exceed_total.
 */
export function readOrder(request: CreateOrderDto): RequestedOrder {
  const totalCents = parseMoney(request.total);
  return {
    externalId: request.external_id,
    document: request.document,
    totalCents,
    items: request.items.map(({ id, price, description }) => ({
      id,
      priceCents: parseMoney(price),
      ...(typeof description === 'string' && { description }),
    })),
    paymentMethods: readPaymentMethods(request.payment_methods, totalCents),
  };
}

/** @throws Problem payments_exceed_total. */
export function readPaymentMethods(methods: readonly PaymentMethodDto[], totalCents: number): OrderPaymentMethod[] {
  const read = methods.map(({ id, amount }) => ({ id, amountCents: parseMoney(amount) }));
  const paidCents = sumCents(read.map(({ amountCents }) => amountCents));
  if (paidCents > totalCents) {
    const detail = `the payment methods come to ${formatMoney(paidCents)}, the total is ${formatMoney(totalCents)}`;
    throw new Problem('payments_exceed_total', {
      detail,
      errors: [{ pointer: '/payment_methods', detail: `must be together at most ${formatMoney(totalCents)}` }],
    });
  }
  return read;
}

/** Where two requests with one `external_id` differ, by meaning: `"150"` is `"150.00"`. */
export function differences(sent: RequestedOrder, kept: RequestedOrder): Fault[] {
  return [
    ...differing('/document', sent.document, kept.document),
    ...differing('/total', sent.totalCents, kept.totalCents),
    ...differingLists('/items', sent.items, kept.items, { id: 'id', priceCents: 'price', description: 'description' }),
    ...differingLists('/payment_methods', sent.paymentMethods, kept.paymentMethods, {
      id: 'id',
      amountCents: 'amount',
    }),
  ];
}

/** Where two lists of payment methods differ. */
export function differingPaymentMethods(
  sent: readonly OrderPaymentMethod[],
  kept: readonly OrderPaymentMethod[],
): Fault[] {
  return differingLists('/payment_methods', sent, kept, { id: 'id', amountCents: 'amount' });
}

function differing(pointer: string, sent: unknown, kept: unknown): Fault[] {
  return sent === kept ? [] : [{ pointer, detail: 'differs from what was sent with this external_id before' }];
}

/** @param members names of the members in the program, each with its name on the wire. */
function differingLists<T extends object>(
  pointer: string,
  sent: readonly T[],
  kept: readonly T[],
  members: { [K in keyof Required<T>]: string },
): Fault[] {
  if (sent.length !== kept.length)
    return [{ pointer, detail: `has ${sent.length} elements; before it had ${kept.length}` }];
  const names = Object.entries(members) as [keyof T, string][];
  return sent.flatMap((element, at) =>
    names.flatMap(([member, name]) => differing(`${pointer}/${at}/${name}`, element[member], kept[at]?.[member])),
  );
}
