import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
  EventBus,
  idsAreEqual,
  type Order,
  OrderLine,
  OrderService,
  type Payment,
  PaymentService,
  Refund,
  RefundAmountError,
  type RequestContext,
  TransactionalConnection,
  UserInputError,
} from '@vendure/core';
import { fromMinor, splitRefund, toMinor } from '@cashback/client/money';
import { CashbackService } from './cashback.service';
import { type CashbackTask, CashbackTaskEvent } from './entities';

type CreateRefund = PaymentService['createRefund'];
type Input = Parameters<CreateRefund>[1];

const sum = <T>(list: readonly T[], of: (one: T) => number): number => list.reduce((total, one) => total + of(one), 0);

/** Divides the shop's refunds as the service does: what was redeemed returns as cashback, and the rest as money. */
@Injectable()
export class CashbackRefunds implements OnApplicationBootstrap {
  constructor(
    private readonly cashback: CashbackService,
    private readonly connection: TransactionalConnection,
    private readonly orders: OrderService,
    private readonly payments: PaymentService,
    private readonly events: EventBus,
  ) {}

  /** All refunds pass here, also those of modifications, which have no resolver and no event of their own. */
  onApplicationBootstrap(): void {
    const create: CreateRefund = this.payments.createRefund.bind(this.payments);
    this.payments.createRefund = async (ctx, input, order, payment) => {
      await this.cashback.deliver(order.id);
      // The lock also reads what was delivered after the transaction began. SQLite has one writer, and no locks.
      const canLock = !/sqlite|sqljs/.test(this.connection.rawConnection.options.type);
      const tasks = await this.cashback.tasks(ctx).find({
        where: { orderId: order.id },
        // What was added last comes back first.
        order: { id: 'DESC' },
        ...(canLock && { lock: { mode: 'pessimistic_write' } }),
      });
      const sales = tasks.filter(({ sale, state }) => sale && state !== 'held' && state !== 'cancelled');
      if (sales.length === 0) return create(ctx, input, order, payment);
      if (sales.some(({ state }) => state !== 'completed'))
        throw new UserInputError('The cashback service does not know this order yet. Repeat the refund later.');
      return this.refund(ctx, input, order, payment, tasks, sales, create);
    };
  }

  private async refund(
    ctx: RequestContext,
    input: Input,
    order: Order,
    selected: Payment,
    tasks: CashbackTask[],
    sales: CashbackTask[],
    create: CreateRefund,
  ): ReturnType<CreateRefund> {
    const lines = await Promise.all(
      (input.lines ?? []).map(async ({ orderLineId, quantity }) => {
        const line = await this.connection.getEntityOrThrow(ctx, OrderLine, orderLineId);
        return line.proratedUnitPriceWithTax * quantity;
      }),
    );
    const goods = sum(lines, (price) => price);
    const wanted = input.amount || goods + (input.shipping ?? 0) + (input.adjustment ?? 0);
    const parts = await this.divide(wanted, goods || wanted, tasks, sales);
    // Rounded units can cost more than their line.
    const total = sum(parts, ({ amount }) => amount);
    if (input.amount && total < wanted) return new RefundAmountError({ maximumRefundable: total });
    const refunds: Refund[] = [];
    for (const { payment, amount } of await this.shares(
      ctx,
      order,
      selected,
      sales,
      total,
      sum(parts, (part) => part.cashback),
    )) {
      const share = { ...input, amount, paymentId: payment.id, ...(refunds.length > 0 && { lines: [] }) };
      const refund = await create(ctx, { ...share, shipping: 0, adjustment: 0 }, order, payment);
      if (!(refund instanceof Refund)) {
        // Rolls back the refunds of the other payments.
        if (refunds.length > 0) throw new UserInputError(refund.message);
        return refund;
      }
      refunds.push(refund);
    }
    const [first] = refunds as [Refund];
    for (const { sale, eligible, ...part } of parts) {
      const externalId = `${sale.externalId}-R${first.id}`;
      const amounts = { amount: fromMinor(part.amount), eligible_amount: fromMinor(eligible) };
      const refund = { external_id: externalId, ...amounts, ...(input.reason && { reason: input.reason }) };
      const { orderId, channelId, id: saleId } = sale;
      await this.cashback
        .tasks(ctx)
        .save({ externalId, orderId, channelId, saleId, state: 'waiting', refund, ...part });
    }
    await this.events.publish(new CashbackTaskEvent(ctx, order.id));
    return first;
  }

  /** What comes back of which order of the service, how much of it are goods, and how much of it returns as cashback. */
  private async divide(total: number, goods: number, tasks: CashbackTask[], sales: CashbackTask[]) {
    const parts: { sale: CashbackTask; amount: number; eligible: number; cashback: number }[] = [];
    for (const sale of sales) {
      const before = tasks.filter(({ saleId }) => saleId !== null && idsAreEqual(saleId, sale.id));
      const left = sale.amount - sum(before, ({ amount }) => amount);
      const amount = Math.min(left, total - sum(parts, (part) => part.amount));
      if (amount === 0) continue;
      const { content } = sale.sale!;
      const goodsLeft =
        toMinor(content.eligible_total ?? content.total) -
        sum(before, ({ refund }) => toMinor(refund!.eligible_amount!));
      const isGoods = Math.min(amount, goodsLeft, goods - sum(parts, (part) => part.eligible));
      const eligible = Math.max(isGoods, amount - (left - goodsLeft));
      // Those that the service does not know yet are of the same modification.
      const waiting = before.filter(({ state }) => state === 'waiting');
      const quoted = fromMinor(amount + sum(waiting, (task) => task.amount));
      const { cashback_returned } = await this.cashback.client.refunds.quote(sale.serviceId!, { amount: quoted });
      parts.push({
        sale,
        amount,
        eligible,
        cashback: toMinor(cashback_returned) - sum(waiting, (task) => task.cashback),
      });
    }
    return parts;
  }

  /** Divides a refund over the payments. The money begins with the payment that was selected. */
  private async shares(
    ctx: RequestContext,
    order: Order,
    selected: Payment,
    sales: CashbackTask[],
    total: number,
    cashback: number,
  ) {
    const settled = (await this.orders.getOrderPayments(ctx, order.id)).filter(({ state }) => state === 'Settled');
    settled.sort((a, b) => Number(idsAreEqual(b.id, selected.id)) - Number(idsAreEqual(a.id, selected.id)));
    const isCashback = ({ transactionId }: Payment): boolean =>
      sales.some(({ serviceId }) => serviceId === transactionId);
    const split = (amount: number, payments: Payment[]) =>
      splitRefund(
        fromMinor(amount),
        payments.map(({ id, amount, refunds }) => {
          const refunded = sum(refunds, (refund) => (refund.state === 'Failed' ? 0 : refund.total));
          return { id: String(id), amount: fromMinor(amount), refunded: fromMinor(refunded) };
        }),
      ).map((part) => ({ payment: payments.find(({ id }) => String(id) === part.id)!, amount: toMinor(part.amount) }));
    const money = settled.filter((payment) => !isCashback(payment));
    return [...split(total - cashback, money), ...split(cashback, settled.filter(isCashback))];
  }
}
