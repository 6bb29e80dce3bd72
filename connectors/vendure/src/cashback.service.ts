import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { ID, Order, Payment, RequestContext } from '@vendure/core';
import { EventBus, OrderService, PaymentService, RequestContextService, TransactionalConnection } from '@vendure/core';
import { idsAreEqual, Logger, OrderLine, OrderStateTransitionEvent, Refund, RefundEvent } from '@vendure/core';
import { RefundAmountError, UserInputError, VendureEvent } from '@vendure/core';
import { Cashback, CashbackError, type CashbackOptions, cleanDocument, type Event } from '@cashback/client';
import { fromMinor, toMinor } from '@cashback/client/money';
import { In, type Repository } from 'typeorm';
import { CashbackApplied, CashbackTask } from './entities';

/** The options of the client, with a login, and those of the shop. */
export interface CashbackPluginOptions extends CashbackOptions {
  email: string;
  password: string;
  /** That of the webhook endpoint, `whsec_…`. Without it, the shop receives no webhooks. */
  webhookSecret?: string | undefined;
  /**
   * Whether the shop has verified that the CPF is that of the customer, for example by a code sent to the phone. Without
   * it, nobody redeems: customers can write any CPF into their account and into a cart.
   */
  ownsDocument?: (ctx: RequestContext, order: Order, document: string) => boolean | Promise<boolean>;
}

/** An event of the service, for emails of the shop: for example `cashback.expiring`. */
export class CashbackEvent extends VendureEvent {
  constructor(
    readonly ctx: RequestContext,
    readonly event: Event,
  ) {
    super();
  }
}

type CreateRefund = PaymentService['createRefund'];
type RefundInput = Parameters<CreateRefund>[1];

const LOG = 'CashbackPlugin';
const SWEEP_MS = 60_000;

const sum = <T>(list: readonly T[], of: (one: T) => number): number => list.reduce((total, one) => total + of(one), 0);

const cpfOf = (owner?: { customFields: object }): string | undefined =>
  cleanDocument((owner?.customFields as { cpf?: string } | undefined)?.cpf);
const documentOf = (order: Order): string | undefined => cpfOf(order) ?? cpfOf(order.customer);

/** Goods earn and redeem, and shipping does not. The price of an item is that of a unit after discounts. */
const contentOf = (order: Order) => ({
  total: fromMinor(order.totalWithTax),
  eligible_total: fromMinor(Math.max(0, Math.min(order.subTotalWithTax, order.totalWithTax))),
  items: order.lines
    .filter(({ quantity }) => quantity > 0)
    .map((line) => ({ id: String(line.id), quantity: line.quantity, price: fromMinor(line.proratedUnitPriceWithTax) })),
});

/** The cashback of the shop's orders. */
@Injectable()
export class CashbackService implements OnApplicationBootstrap {
  static options: CashbackPluginOptions;
  /** A customer may wait for an answer. */
  readonly client = new Cashback({ timeout: 5_000, ...CashbackService.options });
  private readonly createRefund: CreateRefund = this.payments.createRefund.bind(this.payments);

  constructor(
    private readonly connection: TransactionalConnection,
    private readonly orders: OrderService,
    private readonly events: EventBus,
    private readonly contexts: RequestContextService,
    private readonly payments: PaymentService,
  ) {
    payments.createRefund = (ctx, ...args) => connection.withTransaction(ctx, (inner) => this.refund(inner, ...args));
  }

  onApplicationBootstrap(): void {
    const log = (error: unknown) => Logger.warn(`not everything was sent: ${String(error)}`, LOG);
    // Vendure passes events on when their transaction is committed.
    this.events.ofType(OrderStateTransitionEvent).subscribe(({ order }) => void this.deliver(order.id).catch(log));
    this.events.ofType(RefundEvent).subscribe(({ order }) => void this.deliver(order.id).catch(log));
    setInterval(() => void this.sweep().catch(log), SWEEP_MS).unref();
    void this.sweep().catch(log);
  }

  private tasks(ctx?: RequestContext): Repository<CashbackTask> {
    return this.connection.getRepository(ctx, CashbackTask);
  }

  /** Returns what an order shows: null if it has no cashback, is not in BRL, or the service does not answer. */
  async show(ctx: RequestContext, { id }: Order) {
    const order = (await this.orders.findOne(ctx, id))!;
    const task = await this.tasks(ctx).findOneBy({ externalId: order.code });
    if (order.currencyCode !== 'BRL' || order.totalWithTax === 0 || !(order.active || task?.sale)) return null;
    try {
      const document = await this.redeemer(ctx, order);
      const quote = { ...contentOf(order), ...(document && { document }) };
      const isThere = task?.sale && task.serviceId;
      const { cashback } = await (isThere ? this.client.orders.get(isThere) : this.client.quotes.create(quote));
      const toRedeem = cashback.to_redeem && toMinor(cashback.to_redeem.maximum ?? '0');
      return { toReceive: toMinor(cashback.to_receive.amount), toRedeem, redeemed: task?.cashback ?? 0 };
    } catch (error) {
      Logger.warn(`${order.code} shows no cashback: ${String(error)}`, LOG);
      return null;
    }
  }

  /** The CPF whose cashback an order redeems. */
  private async redeemer(ctx: RequestContext, order: Order): Promise<string | undefined> {
    const document = documentOf(order);
    const isOwn = document && (await CashbackService.options.ownsDocument?.(ctx, order, document));
    return isOwn ? document : undefined;
  }

  /** Holds cashback for a payment: at most what is to pay, what the customer wants, and what the order can redeem. */
  async hold(ctx: RequestContext, { id, code: externalId }: Order, toPay: number, wanted: unknown) {
    const declined = (errorMessage: string) => ({ amount: 0, state: 'Declined' as const, errorMessage });
    const order = (await this.orders.findOne(ctx, id))!;
    const document = await this.redeemer(ctx, order);
    if (order.currencyCode !== 'BRL' || document === undefined) return declined('This order can redeem no cashback.');
    const asked = (wanted ?? toPay) as number;
    if (!Number.isSafeInteger(asked) || asked <= 0) return declined('The amount must be a number of centavos.');
    // Committed at once: transactions that insert an equal key and then change its row would wait for each other.
    const insert = this.connection.rawConnection.createQueryBuilder().insert().into(CashbackTask);
    await insert.values({ externalId, orderId: id }).orIgnore().updateEntity(false).execute();
    // Of two requests, one finds it open.
    const { affected } = await this.tasks(ctx).update({ externalId, state: 'open' }, { state: 'held' });
    if (affected !== 1) return declined('Cashback pays for this order already.');
    try {
      const content = { ...contentOf(order), document };
      const { outcome, order: put } = await this.client.orders.put(externalId, content);
      const amount = Math.min(toPay, asked, toMinor(put.cashback.to_redeem.maximum ?? '0'));
      if (outcome === 'open' && amount > 0) {
        const sale = { content, redeem: fromMinor(amount), payment_methods: [] };
        await this.client.orders.hold(put.id, { amount: sale.redeem }, { ifMatch: put.version });
        await this.tasks(ctx).update({ externalId }, { serviceId: put.id, cashback: amount, sale });
        return { amount, state: 'Authorized' as const, transactionId: put.id };
      }
    } catch (error) {
      if (!(error instanceof CashbackError)) throw error;
      Logger.warn(`${externalId} holds no cashback: ${error.message}`, LOG);
    }
    await this.tasks(ctx).update({ externalId }, { state: 'open' });
    return declined('No cashback can be redeemed now.');
  }

  /** Releases what a cancelled payment held. If the service does not answer, the hold ends by itself. */
  async release(ctx: RequestContext, serviceId: string) {
    const released = { state: 'open', cashback: 0, sale: null } as const;
    const { affected } = await this.tasks(ctx).update({ serviceId, state: 'held' }, released);
    const log = (error: unknown) => Logger.warn(`${serviceId} was not released: ${String(error)}`, LOG);
    if (affected === 1) await this.client.orders.hold(serviceId, { amount: '0.00' }).catch(log);
    return { success: true as const };
  }

  /** Cancels the cashback payment of an order that is not paid. */
  async cancelPayment(ctx: RequestContext, orderId: ID): Promise<void> {
    const { held } = await this.paymentsOf(ctx, orderId);
    if (held) await this.orders.cancelPayment(ctx, held.id);
  }

  /** Settles the cashback payment when the other payments are settled, because nothing else does. */
  async settlePayment(ctx: RequestContext, orderId: ID): Promise<void> {
    const { held, settled } = await this.paymentsOf(ctx, orderId);
    const { totalWithTax } = (await this.orders.findOne(ctx, orderId, []))!;
    const paid = sum(settled, ({ amount }) => amount);
    if (held && held.amount + paid >= totalWithTax) await this.orders.settlePayment(ctx, held.id);
  }

  /** The cashback payment that is authorized, and what is settled. */
  private async paymentsOf(ctx: RequestContext, orderId: ID) {
    const task = await this.tasks(ctx).findOneBy({ orderId, state: 'held' });
    const payments = await this.orders.getOrderPayments(ctx, orderId);
    const isHeld = ({ state, transactionId }: Payment) => state === 'Authorized' && transactionId === task?.serviceId;
    return { held: payments.find(isHeld), settled: payments.filter(({ state }) => state === 'Settled') };
  }

  /** Stores an order that is paid and, later, each modification that is paid as an order of its own. */
  async charge(ctx: RequestContext, orderId: ID): Promise<void> {
    const order = (await this.orders.findOne(ctx, orderId))!;
    const { code, totalWithTax: amount } = order;
    const task = await this.tasks(ctx).findOneBy({ externalId: code });
    const document = task?.sale?.content.document ?? documentOf(order);
    if (order.currencyCode !== 'BRL' || amount === 0 || document === undefined) return;
    const raised = (await this.orders.getOrderModifications(ctx, orderId)).filter(({ priceChange }) => priceChange > 0);
    raised.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    const row = { orderId, state: 'waiting' as const };
    if (task && task.state !== 'open' && task.state !== 'held') {
      for (const [index, { priceChange, payment }] of raised.slice(task.modifications).entries()) {
        const externalId = `${code}-M${index + 1}`;
        if (await this.tasks(ctx).existsBy({ externalId })) continue;
        const total = fromMinor(priceChange);
        const content = { document, total, eligible_total: total, items: [{ id: 'modification', price: total }] };
        const payment_methods = payment ? [{ id: payment.method, amount: total }] : [];
        const sale = { content, redeem: '0.00', payment_methods };
        await this.tasks(ctx).save({ ...row, externalId, amount: priceChange, sale });
      }
      return;
    }
    const { settled } = await this.paymentsOf(ctx, orderId);
    // An order that was modified before it was paid can wait for its other payments.
    if (sum(settled, (payment) => payment.amount) < amount) return;
    const isCashback = ({ transactionId }: Payment) => transactionId && transactionId === task?.serviceId;
    const cashback = settled.find(isCashback)?.amount ?? 0;
    const money = settled.filter((payment) => !isCashback(payment));
    const payment_methods = money.map((payment) => ({ id: payment.method, amount: fromMinor(payment.amount) }));
    const sale = { content: { ...contentOf(order), document }, redeem: fromMinor(cashback), payment_methods };
    const charged = { ...task, ...row, externalId: code, amount, cashback, sale };
    await this.tasks(ctx).save({ ...charged, modifications: raised.length });
  }

  /** Cancels what is not paid. */
  async cancel(ctx: RequestContext, orderId: ID): Promise<void> {
    await this.cancelPayment(ctx, orderId);
    await this.tasks(ctx).update({ orderId, state: In(['open', 'held']) }, { state: 'cancelling' });
  }

  /** Sends what is waiting, also what a shop that was killed has left. */
  private async sweep(): Promise<void> {
    const waiting = await this.tasks().findBy({ state: In(['waiting', 'cancelling']) });
    for (const orderId of new Set(waiting.map((task) => task.orderId))) await this.deliver(orderId);
  }

  /** Sends what is waiting of an order. What was sent before is a repeat. */
  async deliver(orderId: ID): Promise<void> {
    const tasks = await this.tasks().find({ where: { orderId }, order: { id: 'ASC' } });
    for (const task of tasks.filter(({ state }) => state === 'waiting' || state === 'cancelling'))
      try {
        const sale = tasks.find(({ id }) => id === task.saleId);
        if (sale) await this.sendRefund(task, sale);
        else if (task.state === 'waiting') await this.complete(task);
        else {
          if (task.serviceId) await this.client.orders.cancel(task.serviceId);
          await this.become(task, { state: 'cancelled' });
        }
      } catch (error) {
        Logger.error(`${task.externalId}: ${String(error)}`, LOG);
        const isRefused = error instanceof CashbackError && [400, 409, 422].includes(error.status);
        if (isRefused || error instanceof UserInputError) await this.become(task, { state: 'failed' });
      }
  }

  /** Changes a task, unless another delivery was faster. */
  private async become(task: CashbackTask, change: Partial<CashbackTask>): Promise<void> {
    await this.tasks().update({ id: task.id, state: task.state }, change);
    Object.assign(task, change);
  }

  private async complete(task: CashbackTask): Promise<void> {
    const { content, ...paid } = task.sale!;
    const { order } = await this.client.orders.put(task.externalId, content);
    const { id: serviceId, version } = order;
    const payment = await this.client.orders.pay(serviceId, { ...paid, version, total: content.total });
    if (payment.outcome === 'completed') return this.become(task, { serviceId, state: 'completed' });
    if (payment.outcome === 'pay_back')
      throw new UserInputError('it was changed at the service: pay the customer back');
    // Some of it is gone since it was held, and the customer has paid the rest: the shop gives a discount.
    const { maximum: redeem } = payment;
    const cashback = toMinor(redeem);
    const lost = task.cashback - cashback;
    Logger.error(`${task.externalId}: ${fromMinor(lost)} of cashback is lost, and becomes a discount`, LOG);
    const amount = task.amount - lost;
    const eligible_total = fromMinor(Math.min(amount, toMinor(content.eligible_total)));
    const sale = { ...paid, redeem, content: { ...content, total: fromMinor(amount), eligible_total } };
    await this.become(task, { amount, cashback, sale });
    await this.complete(task);
  }

  private async sendRefund(task: CashbackTask, sale: CashbackTask): Promise<void> {
    if (sale.state !== 'completed') return;
    const { cashback_returned } = await this.client.refunds.create(sale.serviceId!, task.refund!);
    await this.become(task, { state: 'completed' });
    if (toMinor(cashback_returned) !== task.cashback)
      Logger.error(`${task.externalId} returned ${cashback_returned} of cashback: correct its payments`, LOG);
  }

  /** Runs the work unless the event was applied, in one transaction with the unique key of the event. */
  async once(eventId: string, work: (ctx: RequestContext) => Promise<void>): Promise<void> {
    try {
      await this.connection.withTransaction(await this.contexts.create({ apiType: 'admin' }), async (ctx) => {
        await this.connection.getRepository(ctx, CashbackApplied).insert({ eventId });
        await work(ctx);
      });
    } catch (error) {
      if (!(await this.connection.getRepository(CashbackApplied).existsBy({ eventId }))) throw error;
    }
  }

  /** Cancels the cashback payment of a customer whose hold has ended before the payment, and tells the shop. */
  async apply(ctx: RequestContext, event: Event): Promise<void> {
    if (event.type === 'order.expired') {
      const task = await this.tasks(ctx).findOneBy({ externalId: event.data.order.external_id, state: 'held' });
      const order = task && (await this.orders.findOne(ctx, task.orderId, []));
      if (order?.active) await this.cancelPayment(ctx, order.id);
    }
    await this.events.publish(new CashbackEvent(ctx, event));
  }

  /** Vendure makes all refunds with `createRefund`, also those of modifications, which no resolver and no event has. */
  private async refund(...[ctx, input, order, selected]: Parameters<CreateRefund>): ReturnType<CreateRefund> {
    const orderId = order.id;
    await this.deliver(orderId);
    if (await this.tasks().existsBy({ orderId, state: In(['waiting', 'failed']) }))
      throw new UserInputError('The cashback service does not know all of this order yet. Repeat the refund later.');
    // A read that locks finds what was delivered since the transaction began. What was added last comes back first.
    const lock = { mode: 'pessimistic_write' as const };
    const tasks = await this.tasks(ctx).find({ where: { orderId }, order: { id: 'DESC' }, lock });
    const sales = tasks.filter(({ sale, state }) => sale && state === 'completed');
    if (sales.length === 0) return this.createRefund(ctx, input, order, selected);
    const { settled } = await this.paymentsOf(ctx, orderId);
    const refundedOf = ({ refunds }: Payment) => sum(refunds, ({ state, total }) => (state === 'Failed' ? 0 : total));
    const known = sum(tasks, ({ saleId, amount }) => (saleId === null ? 0 : amount));
    // What the service knows and a provider has not paid back comes first.
    const owed = known - sum(settled, refundedOf);
    const parts = owed > 0 ? [] : await this.divide(ctx, input, tasks, sales);
    const total = owed > 0 ? Math.min(owed, input.amount || owed) : sum(parts, ({ amount }) => amount);
    if (input.amount && total < input.amount) return new RefundAmountError({ maximumRefundable: total });
    const left = { cashback: sum(parts, ({ cashback }) => cashback), money: 0 };
    left.money = total - left.cashback;
    settled.sort((a, b) => Number(idsAreEqual(b.id, selected.id)) - Number(idsAreEqual(a.id, selected.id)));
    let first: Refund | undefined;
    for (const payment of settled) {
      const kind = sales.some(({ serviceId }) => serviceId === payment.transactionId) ? 'cashback' : 'money';
      const amount = Math.min(left[kind], payment.amount - refundedOf(payment));
      if (amount <= 0) continue;
      left[kind] -= amount;
      const lines = first || owed > 0 ? [] : input.lines;
      const share = { ...input, lines, amount, shipping: 0, adjustment: 0, paymentId: payment.id };
      const refund = await this.createRefund(ctx, share, order, payment);
      if (!(refund instanceof Refund)) throw new UserInputError(refund.message);
      if (refund.state === 'Failed' && !first)
        throw new UserInputError('The provider refused it: nothing was refunded.');
      first ??= refund;
    }
    if (first === undefined || left.money + left.cashback > 0) throw new UserInputError('The payments have less left.');
    for (const { sale, eligible, ...part } of parts) {
      const externalId = `${sale.externalId}-R${first.id}`;
      const amounts = { amount: fromMinor(part.amount), eligible_amount: fromMinor(eligible) };
      const refund = { external_id: externalId, ...amounts, ...(input.reason && { reason: input.reason }) };
      await this.tasks(ctx).save({ externalId, orderId, saleId: sale.id, state: 'waiting', refund, ...part });
    }
    return first;
  }

  /** What comes back of which order of the service, how much of it are goods, and how much returns as cashback. */
  private async divide(ctx: RequestContext, input: RefundInput, tasks: CashbackTask[], sales: CashbackTask[]) {
    let goods = 0;
    for (const { orderLineId, quantity } of input.lines ?? []) {
      const line = await this.connection.getEntityOrThrow(ctx, OrderLine, orderLineId);
      goods += quantity * line.proratedUnitPriceWithTax;
    }
    let total = input.amount || goods + (input.shipping ?? 0) + (input.adjustment ?? 0);
    if (goods === 0 && !input.shipping) goods = total;
    const parts: { sale: CashbackTask; amount: number; eligible: number; cashback: number }[] = [];
    for (const sale of sales) {
      const before = tasks.filter(({ saleId }) => saleId === sale.id);
      // Another refund of the same transaction, which the service does not know yet.
      const waiting = before.filter(({ state }) => state === 'waiting');
      const unsent = sum(waiting, (task) => task.amount);
      const given = sum(before, (task) => task.amount);
      const left = sale.amount - given;
      const goodsBefore = sum(before, ({ refund }) => toMinor(refund!.eligible_amount!));
      const goodsLeft = toMinor(sale.sale!.content.eligible_total) - goodsBefore;
      const amount = Math.min(left, total);
      if (amount === 0) continue;
      const eligible = Math.max(Math.min(amount, goodsLeft, goods), amount - (left - goodsLeft));
      total -= amount;
      goods -= eligible;
      const { refunded } = await this.client.orders.get(sale.serviceId!);
      if (toMinor(refunded.amount) !== given - unsent)
        throw new UserInputError(`The service has refunded ${refunded.amount} of ${sale.externalId}: continue there.`);
      const quoted = { amount: fromMinor(amount + unsent) };
      const { cashback_returned } = await this.client.refunds.quote(sale.serviceId!, quoted);
      const cashback = toMinor(cashback_returned) - sum(waiting, (task) => task.cashback);
      parts.push({ sale, amount, eligible, cashback });
    }
    return parts;
  }
}
