import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import {
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
import type { CashbackTask } from './entities';

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
  ) {}

  /** All refunds pass here, also those of modifications, which have no resolver and no event of their own. */
  onApplicationBootstrap(): void {
    const create: CreateRefund = this.payments.createRefund.bind(this.payments);
    this.payments.createRefund = (ctx, input, order, payment) => this.refund(ctx, input, order, payment, create);
  }

  private async refund(...[ctx, input, order, selected, create]: [...Parameters<CreateRefund>, CreateRefund]) {
    await this.cashback.deliver(order.id);
    const tasks = await this.tasksOf(ctx, order);
    const sales = tasks.filter(({ sale, state }) => sale && state !== 'held' && state !== 'cancelled');
    if (sales.length === 0) return create(ctx, input, order, selected);
    if (sales.some(({ state }) => state !== 'completed'))
      throw new UserInputError('The cashback service does not know this order yet. Repeat the refund later.');
    const parts = await this.divide(ctx, input, tasks, sales);
    const total = sum(parts, ({ amount }) => amount);
    if (input.amount && total < input.amount) return new RefundAmountError({ maximumRefundable: total });
    const cashback = sum(parts, (part) => part.cashback);
    const refunds: Refund[] = [];
    for (const { payment, amount } of await this.shares(ctx, order, selected, sales, total - cashback, cashback)) {
      const lines = refunds.length === 0 ? input.lines : [];
      const share = { ...input, lines, shipping: 0, adjustment: 0, amount, paymentId: payment.id };
      const refund = await create(ctx, share, order, payment);
      // An error in a later part rolls back all of them.
      if (!(refund instanceof Refund) && refunds.length > 0) throw new UserInputError(refund.message);
      if (!(refund instanceof Refund)) return refund;
      refunds.push(refund);
    }
    const [first] = refunds as [Refund];
    for (const { sale, eligible, ...part } of parts) {
      const externalId = `${sale.externalId}-R${first.id}`;
      const amounts = { amount: fromMinor(part.amount), eligible_amount: fromMinor(eligible) };
      const refund = { external_id: externalId, ...amounts, ...(input.reason && { reason: input.reason }) };
      const row = { externalId, orderId: order.id, saleId: sale.id, state: 'waiting' as const, refund };
      await this.cashback.tasks(ctx).save({ ...row, ...part });
    }
    return first;
  }

  /** What was added last comes first, and so comes back first. */
  private tasksOf(ctx: RequestContext, { id: orderId }: Order): Promise<CashbackTask[]> {
    // A read that locks also finds what was delivered since the transaction began. SQLite has one writer, and no locks.
    const isSqlite = /sqlite|sqljs/.test(this.connection.rawConnection.options.type);
    const lock = isSqlite ? undefined : { mode: 'pessimistic_write' as const };
    return this.cashback.tasks(ctx).find({ where: { orderId }, order: { id: 'DESC' }, ...(lock && { lock }) });
  }

  /** What comes back of which order of the service, how much of it are goods, and how much returns as cashback. */
  private async divide(ctx: RequestContext, input: Input, tasks: CashbackTask[], sales: CashbackTask[]) {
    const { lines = [], shipping = 0, adjustment = 0 } = input;
    let goods = 0;
    for (const { orderLineId, quantity } of lines ?? [])
      goods +=
        quantity * (await this.connection.getEntityOrThrow(ctx, OrderLine, orderLineId)).proratedUnitPriceWithTax;
    let total = input.amount || goods + (shipping ?? 0) + (adjustment ?? 0);
    if (goods === 0 && !shipping) goods = total;
    const parts: { sale: CashbackTask; amount: number; eligible: number; cashback: number }[] = [];
    for (const sale of sales) {
      const { content } = sale.sale!;
      const before = tasks.filter(({ saleId }) => saleId !== null && idsAreEqual(saleId, sale.id));
      const left = sale.amount - sum(before, ({ amount }) => amount);
      const eligibleBefore = sum(before, ({ refund }) => toMinor(refund!.eligible_amount!));
      const eligibleLeft = toMinor(content.eligible_total ?? content.total) - eligibleBefore;
      const amount = Math.min(left, total);
      const eligible = Math.max(Math.min(amount, eligibleLeft, goods), amount - (left - eligibleLeft));
      if (amount === 0) continue;
      total -= amount;
      goods -= eligible;
      // Refunds of the same modification, which the service does not know yet.
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

  /** Divides money and cashback over their payments, beginning with the one that was selected. */
  private async shares(
    ctx: RequestContext,
    order: Order,
    selected: Payment,
    sales: CashbackTask[],
    money: number,
    cashback: number,
  ) {
    const settled = (await this.orders.getOrderPayments(ctx, order.id)).filter(({ state }) => state === 'Settled');
    settled.sort((a, b) => Number(idsAreEqual(b.id, selected.id)) - Number(idsAreEqual(a.id, selected.id)));
    const split = (amount: number, isOfCashback: boolean) => {
      const payments = settled.filter(
        ({ transactionId }) => sales.some(({ serviceId }) => serviceId === transactionId) === isOfCashback,
      );
      const paid = payments.map(({ id, amount, refunds }) => {
        const refunded = sum(refunds, (refund) => (refund.state === 'Failed' ? 0 : refund.total));
        return { id: String(id), amount: fromMinor(amount), refunded: fromMinor(refunded) };
      });
      const shares = splitRefund(fromMinor(amount), paid);
      return shares.map(({ id, amount }) => ({
        payment: payments.find((it) => String(it.id) === id)!,
        amount: toMinor(amount),
      }));
    };
    return [...split(money, false), ...split(cashback, true)];
  }
}
