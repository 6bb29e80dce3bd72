import { formatMoney, parseMoney, sumCents } from '../common/money.js';
import { Problem } from '../common/problem.js';
import type { CreateOrderDto, PaymentMethodDto } from './dto/create-order.dto.js';
import type { Order, OrderPaymentMethod } from './order.entity.js';

/** The part of an order that comes from the request. */
export interface RequestedOrder extends Pick<
  Order,
  'externalId' | 'document' | 'totalCents' | 'eligibleTotalCents' | 'items' | 'paymentMethods'
> {
  /** When the order is to expire, if the caller says so. */
  requestedExpiry?: Date;
}

/**
 * Reads a request whose members have been validated individually.
 *
 * @throws Problem payments_exceed_total.
 */
export function readOrder(request: CreateOrderDto): RequestedOrder {
  const totalCents = parseMoney(request.total);
  return {
    externalId: request.external_id,
    document: request.document,
    totalCents,
    eligibleTotalCents: readEligibleTotal(request.eligible_total, totalCents),
    items: request.items.map(({ id, price, description, quantity }) => ({
      id,
      priceCents: parseMoney(price),
      ...(typeof description === 'string' && { description }),
      ...(typeof quantity === 'number' && quantity !== 1 && { quantity }),
    })),
    paymentMethods: readPaymentMethods(request.payment_methods, totalCents),
    ...(typeof request.expires_at === 'string' && { requestedExpiry: new Date(request.expires_at) }),
  };
}

/** @returns centavos; null if the whole total is eligible, so that an omitted member equals the total. */
export function readEligibleTotal(eligibleTotal: string | null | undefined, totalCents: number): number | null {
  const eligibleTotalCents = typeof eligibleTotal === 'string' ? parseMoney(eligibleTotal) : totalCents;
  return eligibleTotalCents === totalCents ? null : eligibleTotalCents;
}

/** @throws Problem payments_exceed_total. */
export function readPaymentMethods(methods: readonly PaymentMethodDto[], totalCents: number): OrderPaymentMethod[] {
  const read = methods.map(({ id, amount }) => ({ id, amountCents: parseMoney(amount) }));
  const paidCents = sumCents(read.map(({ amountCents }) => amountCents));
  if (paidCents > totalCents) {
    const detail = `the payment methods add up to ${formatMoney(paidCents)}, which exceeds the total of ${formatMoney(totalCents)}`;
    throw new Problem('payments_exceed_total', {
      detail,
      errors: [{ pointer: '/payment_methods', detail: `must add up to at most ${formatMoney(totalCents)}` }],
    });
  }
  return read;
}
