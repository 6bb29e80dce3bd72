import { Injectable } from '@nestjs/common';
import { BalancesService } from '../cashback/balances.service.js';
import { quote } from '../cashback/quote.js';
import { Clock } from '../common/clock.js';
import { formatMoney, parseMoney } from '../common/money.js';
import { Config } from '../config/config.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { CreateQuoteDto, QuoteDto } from './dto/quote.dto.js';
import { readEligibleTotal, readPaymentMethods } from './order-content.js';
import { refuseAboveMaximum } from './order.entity.js';
import { toPaymentMethodDtos, toPolicyDto, toReceiveDto, toRedeemDto } from './order.mapper.js';

/** Calculates the cashback of an order without creating it. */
@Injectable()
export class QuotesService {
  constructor(
    private readonly balances: BalancesService,
    private readonly merchants: MerchantsService,
    private readonly clock: Clock,
    private readonly config: Config,
  ) {}

  /** @throws Problem payments_exceed_total; redemption_exceeds_maximum, with the maximum. */
  async quote(merchantId: string, request: CreateQuoteDto): Promise<QuoteDto> {
    const { document } = request;
    const totalCents = parseMoney(request.total);
    const eligibleTotalCents = readEligibleTotal(request.eligible_total, totalCents);
    const paymentMethods = readPaymentMethods(request.payment_methods ?? [], totalCents);
    const redeemedCents = request.redeem === undefined ? 0 : parseMoney(request.redeem);
    const policy = await this.merchants.policyOf(merchantId);
    const now = this.clock.now(merchantId);
    // Without a customer, only the policy limits what is redeemed.
    const availableCents =
      document === undefined ? totalCents : await this.balances.availableNow({ merchantId, document });
    const quoted = quote(
      { totalCents, eligibleTotalCents, paymentMethods, redeemedCents },
      policy,
      availableCents,
      now,
    );
    const { maximum, earnedCents: amountCents, validity } = quoted;
    refuseAboveMaximum(maximum, redeemedCents, '/redeem');
    const redeemable = { availableCents: availableCents - redeemedCents, maximum, heldCents: redeemedCents };
    return {
      cashback: {
        to_redeem: document === undefined ? null : toRedeemDto(redeemable),
        to_receive: toReceiveDto({ amountCents, takenBackCents: 0, status: 'quoted', validity }, policy),
      },
      payment_methods: toPaymentMethodDtos(paymentMethods, policy),
      amount_to_pay: formatMoney(totalCents - redeemedCents),
      policy: toPolicyDto(policy, this.config),
    };
  }
}
