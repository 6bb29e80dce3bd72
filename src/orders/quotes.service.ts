import { Injectable } from '@nestjs/common';
import { BalancesService } from '../cashback/balances.service.js';
import { refuseNewCustomer } from '../cashback/new-customer.js';
import { earnAmountProblem, quote, refuseAboveMaximum, refuseBelowMinimum } from '../cashback/quote.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { toPolicyDto } from '../merchants/policy.dto.js';
import { type Caller } from '../platform/values/caller.js';
import { formatMoney, parseMoney } from '../platform/values/money.js';
import { Clock } from '../platform/values/time.js';
import { rulesOfSale } from './late-sales.js';
import { readEligibleTotal, readInstant, readOptional, readPaymentMethods } from './order-content.js';
import { toPaymentMethodDtos, toReceiveDto, toRedeemDto } from './order.dto.js';
import { type CreateQuoteDto, type QuoteDto } from './quote.dto.js';

/** Calculates the cashback of an order without creating it. */
@Injectable()
export class QuotesService {
  constructor(
    private readonly balances: BalancesService,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
  ) {}

  /**
   * @throws Problem validation_failed; payments_exceed_total; earn_amount_exceeds_maximum; redemption_below_minimum;
   *   redemption_exceeds_maximum; sold_too_long_ago; forbidden.
   */
  async quote(caller: Caller, request: CreateQuoteDto): Promise<QuoteDto> {
    const { merchantId } = caller;
    const { document } = request;
    const totalCents = parseMoney(request.total);
    const eligibleTotalCents = readEligibleTotal(request.eligible_total, totalCents);
    const paymentMethods = readPaymentMethods(request.payment_methods ?? [], totalCents);
    const earnAmountCents = readOptional(request.earn_amount);
    const redeemedCents = readOptional(request.redeem) ?? 0;
    const now = this.clock.now(merchantId);
    const soldAt = readInstant(request.sold_at);
    const { rules, refusal, lateAt } = await rulesOfSale(this.merchants, caller, soldAt, now);
    if (refusal !== undefined) throw refusal;
    const { policy } = rules;
    if (document !== undefined) refuseNewCustomer(document, policy);
    const balance = document === undefined ? null : await this.balances.availableNow({ merchantId, document });
    const order = { totalCents, eligibleTotalCents, earnAmountCents, paymentMethods, redeemedCents };
    const problem = earnAmountProblem(order, policy);
    if (problem !== undefined) throw problem;
    const quoted = quote(order, policy, balance, now, lateAt);
    const { maximum, earned, validity } = quoted;
    refuseBelowMinimum(policy, redeemedCents, '/redeem');
    refuseAboveMaximum(maximum, redeemedCents, '/redeem');
    return {
      cashback: {
        to_redeem:
          balance === null
            ? null
            : toRedeemDto({
                availableCents: balance.availableCents - redeemedCents,
                maximum,
                heldCents: redeemedCents,
              }),
        to_receive: toReceiveDto({ earned, takenBackCents: 0, status: 'quoted', validity }, policy),
      },
      payment_methods: toPaymentMethodDtos(paymentMethods, { earnAmountCents, policy }),
      amount_to_pay: formatMoney(totalCents - redeemedCents),
      policy: toPolicyDto(policy),
    };
  }
}
