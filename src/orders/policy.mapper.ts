import { formatMoney, formatRate } from '../common/money.js';
import type { Policy } from '../merchants/policy.js';
import type { PolicyDto } from './dto/policy.dto.js';

/** Builds the response for a policy. */
export function toPolicyDto(policy: Policy): PolicyDto {
  const overrides = Object.entries(policy.earnRatesByPaymentMethod).map(([id, bps]) => [id, formatRate(bps)] as const);
  return {
    earn_rate: formatRate(policy.earnRateBps),
    earn_rates_by_payment_method: Object.fromEntries(overrides),
    redeem_share: formatRate(policy.redeemShareBps),
    redeem_minimum_total: formatMoney(policy.redeemMinimumTotalCents),
    release_days: policy.releaseDays,
    validity_days: policy.validityDays,
    order_ttl_minutes: policy.orderTtlMinutes,
    max_order_ttl_minutes: policy.maxOrderTtlMinutes,
    time_zone: policy.timeZone,
  };
}
