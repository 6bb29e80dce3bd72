import { Parent, ResolveField, Resolver } from '@nestjs/graphql';
import type { Order, RequestContext, RuntimeVendureConfig } from '@vendure/core';
import { Ctx, LanguageCode, PaymentMethodHandler, PluginCommonModule, VendurePlugin } from '@vendure/core';
import { cleanDocument } from '@cashback/client';
import { webhookHandler } from '@cashback/client/webhooks';
import { gql } from 'graphql-tag';
import { type CashbackPluginOptions, CashbackService } from './cashback.service';
import { CashbackApplied, CashbackTask } from './entities';

let cashback: CashbackService;

/** Pays with held cashback. It is redeemed when the order is paid, so settling the payment sends nothing. */
export const cashbackPaymentHandler = new PaymentMethodHandler({
  code: 'cashback',
  description: [{ languageCode: LanguageCode.en, value: 'Cashback' }],
  args: {},
  init: (injector) => {
    cashback = injector.get(CashbackService);
  },
  createPayment: (ctx, order, amount, _args, metadata) => cashback.hold(ctx, order, amount, metadata.amount),
  settlePayment: () => ({ success: true }),
  cancelPayment: (ctx, _order, payment) => cashback.release(ctx, payment.transactionId),
  createRefund: (_ctx, _input, _amount, _order, { transactionId }) => ({ state: 'Settled', transactionId }),
});

@Resolver('Order')
class CashbackResolver {
  @ResolveField()
  cashback(@Ctx() ctx: RequestContext, @Parent() order: Order) {
    return cashback.show(ctx, order);
  }
}

const schema = gql`
  extend type Order {
    "Null if the order is not in BRL, or the cashback service does not answer."
    cashback: OrderCashback
  }
  "Amounts are in centavos."
  type OrderCashback {
    "What the customer receives for the order."
    toReceive: Money!
    "What the order can redeem at most. Null without a CPF that the shop has verified."
    toRedeem: Money
    "What of the total is paid with cashback."
    redeemed: Money!
  }
`;

function configuration(config: RuntimeVendureConfig): RuntimeVendureConfig {
  const { webhookSecret } = CashbackService.options;
  const validate = (text: string) => (text && !cleanDocument(text) ? 'This is no CPF or CNPJ.' : undefined);
  const cpf = { name: 'cpf', type: 'string' as const, nullable: true, validate };
  config.customFields.Order?.push(cpf);
  config.customFields.Customer?.push(cpf);
  config.paymentOptions.paymentMethodHandlers.push(cashbackPaymentHandler);
  config.paymentOptions.process?.push({
    onTransitionStart: (from, to, { payment }) =>
      from === 'Created' && to === 'Settled' && payment.method === 'cashback' ? 'Cashback is held first.' : undefined,
    onTransitionEnd: async (_from, to, { ctx, order }) => {
      if (to === 'Authorized' || to === 'Settled') await cashback.settlePayment(ctx, order.id);
    },
  });
  config.orderOptions.process?.push({
    onTransitionEnd: async (from, to, { ctx, order }) => {
      if (to === 'Cancelled') await cashback.cancel(ctx, order.id);
      else if (to === 'AddingItems') await cashback.cancelPayment(ctx, order.id);
      else if (to === 'PaymentSettled' || from === 'ArrangingAdditionalPayment') await cashback.charge(ctx, order.id);
    },
  });
  if (webhookSecret === undefined) return config;
  const handler = webhookHandler<RequestContext>(webhookSecret, (event, ctx) => cashback.apply(ctx, event), {
    once: (id, work) => cashback.once(id, work),
  });
  // Before Vendure parses the body, whose bytes are signed.
  config.apiOptions.middleware.push({ route: '/cashback/webhooks', handler, beforeListen: true });
  return config;
}

/** Cashback in a Vendure shop. */
@VendurePlugin({
  imports: [PluginCommonModule],
  entities: [CashbackTask, CashbackApplied],
  providers: [CashbackService],
  shopApiExtensions: { schema, resolvers: [CashbackResolver] },
  configuration,
  compatibility: '^3.0.0',
})
export class CashbackPlugin {
  static init(options: CashbackPluginOptions): typeof CashbackPlugin {
    CashbackService.options = options;
    return CashbackPlugin;
  }
}
