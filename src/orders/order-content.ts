import { readMetadata } from '../common/metadata.js';
import { formatMoney, parseMoney, sumCents } from '../common/money.js';
import { Problem } from '../common/problem.js';
import type { CreateOrderDto, OrderContentDto, PaymentMethodDto } from './dto/create-order.dto.js';
import type { Order, OrderPaymentMethod } from './order.entity.js';

/** The part of an order that an amendment replaces. */
export type AmendableContent = Pick<
  Order,
  'totalCents' | 'eligibleTotalCents' | 'items' | 'paymentMethods' | 'metadata'
>;

/** The part of an order that comes from the request. As in its column, an absent member is null. */
export type RequestedOrder = AmendableContent & Pick<Order, 'externalId' | 'document' | 'requestedExpiresAt'>;

/**
 * Reads a request whose members have been validated individually.
 *
 * @throws Problem payments_exceed_total.
 */
export function readOrder(request: CreateOrderDto): RequestedOrder {
  return {
    externalId: request.external_id,
    document: request.document,
    ...readContent(request),
    requestedExpiresAt: request.expires_at === undefined ? null : new Date(request.expires_at),
  };
}

/**
 * Reads the content of an order. Its members have been validated individually.
 *
 * @throws Problem payments_exceed_total.
 */
export function readContent(request: OrderContentDto): AmendableContent {
  const totalCents = parseMoney(request.total);
  return {
    totalCents,
    eligibleTotalCents: readEligibleTotal(request.eligible_total, totalCents),
    items: request.items.map(({ id, price, description, quantity }) => ({
      id,
      priceCents: parseMoney(price),
      ...(description !== undefined && { description }),
      ...(quantity !== undefined && quantity !== 1 && { quantity }),
    })),
    paymentMethods: readPaymentMethods(request.payment_methods, totalCents),
    metadata: readMetadata(request.metadata),
  };
}

/** @returns centavos; null if the whole total is eligible, so that an omitted member equals the total. */
function readEligibleTotal(eligibleTotal: string | undefined, totalCents: number): number | null {
  const eligibleTotalCents = eligibleTotal === undefined ? totalCents : parseMoney(eligibleTotal);
  return eligibleTotalCents === totalCents ? null : eligibleTotalCents;
}

/**
 * Also for quotes, amendments and completions. A rule of the policy cannot be checked here: at creation a replay comes
 * first, and an existing order keeps its own policy.
 *
 * @param redeemedCents what is redeemed, if that is known: only a completion knows it.
 * @throws Problem payments_exceed_total.
 */
export function readPaymentMethods(
  methods: readonly PaymentMethodDto[],
  totalCents: number,
  redeemedCents = 0,
): OrderPaymentMethod[] {
  const read = methods.map(({ id, amount }) => ({ id, amountCents: parseMoney(amount) }));
  const paidCents = sumCents(read.map(({ amountCents }) => amountCents));
  if (paidCents + redeemedCents <= totalCents) return read;
  const [total, redeemed, payments] = [totalCents, redeemedCents, paidCents].map(formatMoney);
  const maximum = `must add up to at most ${formatMoney(totalCents - redeemedCents)}`;
  const [detail, bound] =
    redeemedCents === 0
      ? [`the payment methods add up to ${payments}, which exceeds the total of ${total}`, maximum]
      : [
          `the payment methods add up to ${payments}, and ${redeemed} is redeemed: together this exceeds the total of ${total}; send what the customer paid, and as redeem what was deducted`,
          `${maximum} if ${redeemed} is redeemed`,
        ];
  throw new Problem('payments_exceed_total', {
    detail,
    errors: [{ pointer: '/payment_methods', detail: bound }],
    extensions: { total, redeemed, payments },
  });
}
