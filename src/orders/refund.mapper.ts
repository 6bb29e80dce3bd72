import { formatMoney } from '../common/money.js';
import type { RefundDto } from './dto/refund.dto.js';
import type { Refund } from './refund.entity.js';

/** Builds the response for a refund. */
export function toRefundDto(refund: Refund): RefundDto {
  return {
    id: refund.id,
    external_id: refund.externalId,
    order_id: refund.orderId,
    amount: formatMoney(refund.amountCents),
    cashback_returned: formatMoney(refund.returnedCents),
    cashback_taken_back: formatMoney(refund.clawedBackCents),
    amount_to_pay_back: formatMoney(refund.amountCents - refund.returnedCents),
    created_at: refund.createdAt,
  };
}
