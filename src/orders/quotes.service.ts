import { Injectable } from '@nestjs/common';
import { BalancesService } from '../cashback/balances.service.js';
import { Clock } from '../common/clock.js';
import { parseMoney } from '../common/money.js';
import { Config } from '../config/config.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { CreateQuoteDto, QuoteDto } from './dto/quote.dto.js';
import { refuseOverMaximum } from './order-cashback.js';
import { readOrder } from './order-content.js';
import { toOrderDto, toPolicyDto } from './order.mapper.js';
import { newOrder } from './orders.service.js';

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
    const redeemCents = request.redeem === undefined ? 0 : parseMoney(request.redeem);
    const sent = { document: request.document ?? '', payment_methods: request.payment_methods ?? [] };
    const requested = readOrder({ ...request, ...sent, external_id: '', items: [] });
    const policy = await this.merchants.policyOf(merchantId);
    const now = this.clock.now();
    // A quote is not stored, so nothing is compared with its digest.
    const order = newOrder(requested, { merchantId, policy, contentDigest: Buffer.alloc(0) }, now);
    const isKnown = request.document !== undefined;
    // Without a customer, only the policy limits what is redeemed.
    const availableCents = isKnown ? await this.balances.availableNow(order) : order.totalCents;
    refuseOverMaximum(order, { availableCents }, redeemCents, '/redeem');
    const held = toOrderDto({ ...order, redemptionCents: redeemCents }, availableCents - redeemCents, now);
    return {
      cashback: { to_redeem: isKnown ? held.cashback.to_redeem : null, to_receive: held.cashback.to_receive },
      payment_methods: held.payment_methods,
      amount_to_pay: held.amount_to_pay,
      policy: toPolicyDto(policy, this.config),
    };
  }
}
