import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import {
  ChannelService,
  type CreatePaymentErrorResult,
  type CreatePaymentResult,
  EventBus,
  type ID,
  Logger,
  type Order,
  OrderService,
  type Payment,
  type RequestContext,
  RequestContextService,
  TransactionalConnection,
} from '@vendure/core';
import { Cashback, CashbackError, cleanDocument, type Event, type OrderContent } from '@cashback/client';
import { fromMinor, toMinor } from '@cashback/client/money';
import { In, type Repository } from 'typeorm';
import { CashbackApplied, CashbackEvent, CashbackTask, CashbackTaskEvent } from './entities';

/** The options of the plugin. */
export interface CashbackPluginOptions {
  baseUrl: string;
  email: string;
  password: string;
  /** That of the webhook endpoint, `whsec_…`. Without it, the shop receives no webhooks. */
  webhookSecret?: string | undefined;
  /** Default: `/cashback/webhooks`. */
  webhookRoute?: string | undefined;
  /**
   * Whether the customer of an order was verified to own its CPF. By default only customers who are logged in redeem,
   * with the CPF that the shop has stored with them.
   */
  ownsDocument?: ((ctx: RequestContext, order: Order) => boolean | Promise<boolean>) | undefined;
}
export const OPTIONS = Symbol('CashbackPluginOptions');

const LOG = 'CashbackPlugin';
const SWEEP_MS = 60_000;

/** A refusal that no repeat changes: a person must look at it. */
class Refused extends Error {}
const isRefusal = (error: unknown): boolean =>
  error instanceof Refused ||
  (error instanceof CashbackError && !error.retryable && [400, 409, 422].includes(error.status));

const cpfOf = (of?: { customFields: object }): string | undefined =>
  cleanDocument((of?.customFields as { cpf?: string } | undefined)?.cpf);

/** The goods earn and redeem; shipping does not. The price of an item is that of a unit, after discounts. */
const contentOf = (order: Order): Omit<OrderContent, 'document'> => ({
  total: fromMinor(order.totalWithTax),
  eligible_total: fromMinor(Math.max(0, Math.min(order.subTotalWithTax, order.totalWithTax))),
  items: order.lines
    .filter(({ quantity }) => quantity > 0)
    .map(({ id, quantity, proratedUnitPriceWithTax: price, productVariant: { sku } }) => ({
      ...{ id: String(id), quantity, price: fromMinor(price), description: sku },
    })),
});

/** The cashback of the shop's orders. */
@Injectable()
export class CashbackService implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly client = new Cashback({ timeout: 10_000, ...this.options });
  private sweeping?: NodeJS.Timeout;

  constructor(
    @Inject(OPTIONS) private readonly options: CashbackPluginOptions,
    private readonly connection: TransactionalConnection,
    private readonly orders: OrderService,
    private readonly events: EventBus,
    private readonly contexts: RequestContextService,
    private readonly channels: ChannelService,
  ) {}

  onApplicationBootstrap(): void {
    // Vendure passes an event on when its transaction is committed.
    this.events.ofType(CashbackTaskEvent).subscribe(({ orderId }) => void this.deliver(orderId));
    void this.sweep();
    this.sweeping = setInterval(() => void this.sweep(), SWEEP_MS);
  }

  onApplicationShutdown(): void {
    clearInterval(this.sweeping);
  }

  /** The tasks, in the transaction of a context. */
  tasks(ctx?: RequestContext): Repository<CashbackTask> {
    return this.connection.getRepository(ctx, CashbackTask);
  }

  /** What an order shows. Null without cashback, in another currency, and if the service does not answer. */
  async show(ctx: RequestContext, { id }: Order) {
    const order = (await this.orders.findOne(ctx, id))!;
    const task = await this.tasks(ctx).findOneBy({ externalId: order.code });
    if (order.currencyCode !== 'BRL' || order.totalWithTax === 0 || !(order.active || task?.sale)) return null;
    try {
      const document = await this.redeemer(ctx, order);
      const quote = { ...contentOf(order), ...(document && { document }) };
      const isThere = task?.serviceId && task.state !== 'open';
      const { cashback } = await (isThere ? this.client.orders.get(task.serviceId!) : this.client.quotes.create(quote));
      const { to_receive, to_redeem } = cashback;
      const toRedeem = to_redeem && toMinor(to_redeem.maximum ?? '0');
      return { toReceive: toMinor(to_receive.amount), toRedeem, redeemed: task?.cashback ?? 0 };
    } catch (error) {
      Logger.warn(`no cashback is shown for ${order.code}: ${String(error)}`, LOG);
      return null;
    }
  }

  /** The CPF whose cashback an order redeems: anybody can type any CPF into a cart. */
  private async redeemer(ctx: RequestContext, order: Order): Promise<string | undefined> {
    const own = cpfOf(order.customer);
    const document = cpfOf(order) ?? own;
    const isOwn = ctx.activeUserId !== undefined && document === own;
    return isOwn || (await this.options.ownsDocument?.(ctx, order)) ? document : undefined;
  }

  /** Holds cashback for a payment: at most what is to pay, what the customer wants, and what the order can redeem. */
  async hold(
    ctx: RequestContext,
    { id, code: externalId }: Order,
    toPay: number,
    wanted: unknown,
  ): Promise<CreatePaymentResult | CreatePaymentErrorResult> {
    const declined = (errorMessage: string) => ({ amount: 0, state: 'Declined' as const, errorMessage });
    const order = (await this.orders.findOne(ctx, id))!;
    const document = await this.redeemer(ctx, order);
    if (order.currencyCode !== 'BRL' || document === undefined) return declined('This order can redeem no cashback.');
    // Committed at once: transactions that insert an equal key and then change its row would wait for each other.
    const insert = this.connection.rawConnection.createQueryBuilder().insert().into(CashbackTask);
    const values = { externalId, orderId: id, channelId: ctx.channelId };
    await insert.values(values).orIgnore().updateEntity(false).execute();
    // One of two requests finds it open.
    const { affected } = await this.tasks(ctx).update({ externalId, state: 'open' }, { state: 'held' });
    if (affected !== 1) return declined('Cashback pays for this order already.');
    try {
      const content = { ...contentOf(order), document };
      const put = await this.client.orders.put(externalId, content);
      const maximum = Math.min(toPay, toMinor(put.order.cashback.to_redeem.maximum ?? '0'));
      const amount = Number.isSafeInteger(wanted) ? Math.min(maximum, Number(wanted)) : maximum;
      if (put.outcome === 'open' && amount > 0) {
        const { id: serviceId, version } = put.order;
        const held = fromMinor(amount);
        await this.client.orders.hold(serviceId, { amount: held }, { ifMatch: version });
        const sale = { content, redeem: held, payment_methods: [] };
        await this.tasks(ctx).update({ externalId }, { serviceId, cashback: amount, sale });
        return { amount, state: 'Authorized', transactionId: serviceId };
      }
    } catch (error) {
      if (!(error instanceof CashbackError)) throw error;
      Logger.warn(`${externalId}: no cashback was held: ${error.message}`, LOG);
    }
    await this.tasks(ctx).update({ externalId }, { state: 'open' });
    return declined('No cashback can be redeemed now.');
  }

  /** Releases what a cancelled payment held. If the service does not answer, the hold ends by itself. */
  async release(ctx: RequestContext, { transactionId: serviceId }: Payment): Promise<void> {
    const released = { state: 'open', cashback: 0, sale: null } as const;
    const { affected } = await this.tasks(ctx).update({ serviceId, state: 'held' }, released);
    if (affected !== 1) return;
    await this.client.orders.hold(serviceId, { amount: '0.00' }).catch((error: unknown) => {
      Logger.warn(`the hold of ${serviceId} was not released: ${String(error)}`, LOG);
    });
  }

  /** Cancels the cashback payment of an order that is not paid. */
  async cancelPayment(ctx: RequestContext, orderId: ID): Promise<void> {
    const [payment] = await this.heldPayments(ctx, orderId);
    if (payment) await this.orders.cancelPayment(ctx, payment.id);
  }

  /** Settles the cashback payment as soon as the other payments are settled: nothing else does. */
  async settlePayment(ctx: RequestContext, orderId: ID): Promise<void> {
    const [payment] = await this.heldPayments(ctx, orderId);
    if (!payment) return;
    const { totalWithTax } = (await this.orders.findOne(ctx, orderId, []))!;
    const settled = (await this.orders.getOrderPayments(ctx, orderId)).filter(({ state }) => state === 'Settled');
    const paid = settled.reduce((sum, { amount }) => sum + amount, payment.amount);
    if (paid >= totalWithTax) await this.orders.settlePayment(ctx, payment.id);
  }

  private async heldPayments(ctx: RequestContext, orderId: ID): Promise<Payment[]> {
    const task = await this.tasks(ctx).findOneBy({ orderId, state: 'held' });
    const payments = task ? await this.orders.getOrderPayments(ctx, orderId) : [];
    return payments.filter(({ state, transactionId }) => state === 'Authorized' && transactionId === task?.serviceId);
  }

  /** Stores an order that is paid, and then each modification that was paid since, as an order of its own. */
  async charge(ctx: RequestContext, orderId: ID): Promise<void> {
    const order = (await this.orders.findOne(ctx, orderId))!;
    const [task = null] = await this.tasks(ctx).findBy({ externalId: order.code });
    const raised = (await this.orders.getOrderModifications(ctx, orderId)).filter(({ priceChange }) => priceChange > 0);
    const document = task?.sale?.content.document ?? cpfOf(order) ?? cpfOf(order.customer);
    if (order.currencyCode !== 'BRL' || order.totalWithTax === 0 || document === undefined) return;
    const row = { orderId, channelId: ctx.channelId, state: 'waiting' } as const;
    const isCharged = task && task.state !== 'open' && task.state !== 'held';
    if (!isCharged) {
      const paid = (await this.orders.getOrderPayments(ctx, orderId)).filter(({ state }) => state === 'Settled');
      const isCashback = ({ transactionId }: Payment) => transactionId !== null && transactionId === task?.serviceId;
      const cashback = paid.find(isCashback)?.amount ?? 0;
      const money = paid.filter((payment) => !isCashback(payment));
      const payment_methods = money.map(({ method: id, amount }) => ({ id, amount: fromMinor(amount) }));
      const sale = { content: { ...contentOf(order), document }, redeem: fromMinor(cashback), payment_methods };
      const { code: externalId, totalWithTax: amount } = order;
      await this.tasks(ctx).save({ ...task, ...row, externalId, amount, cashback, sale, modifications: raised.length });
    } else
      for (const [index, { priceChange: amount, payment }] of raised.slice(task.modifications).entries()) {
        const externalId = `${order.code}-M${index + 1}`;
        if (await this.tasks(ctx).existsBy({ externalId })) continue;
        const total = fromMinor(amount);
        const content = { document, total, items: [{ id: 'modification', price: total }] };
        const payment_methods = payment ? [{ id: payment.method, amount: total }] : [];
        await this.tasks(ctx).save({ ...row, externalId, amount, sale: { content, redeem: '0.00', payment_methods } });
      }
    await this.events.publish(new CashbackTaskEvent(ctx, orderId));
  }

  /** Cancels what is not paid. */
  async cancel(ctx: RequestContext, orderId: ID): Promise<void> {
    await this.cancelPayment(ctx, orderId);
    await this.tasks(ctx).update({ orderId, state: In(['open', 'held']) }, { state: 'cancelling' });
    await this.events.publish(new CashbackTaskEvent(ctx, orderId));
  }

  /** Sends what is waiting, also after the shop was killed. */
  private async sweep(): Promise<void> {
    try {
      const waiting = await this.tasks().findBy({ state: In(['waiting', 'cancelling']) });
      for (const orderId of new Set(waiting.map((task) => task.orderId))) await this.deliver(orderId);
    } catch (error) {
      Logger.warn(`not all was sent: ${String(error)}`, LOG);
    }
  }

  /** Sends what is waiting of an order. Whatever was sent before is a repeat. */
  async deliver(orderId: ID): Promise<void> {
    const tasks = await this.tasks().find({ where: { orderId }, order: { id: 'ASC' } });
    for (const task of tasks.filter(({ state }) => state === 'waiting' || state === 'cancelling'))
      try {
        if (task.refund)
          await this.refund(
            task,
            tasks.find(({ id }) => id === task.saleId)!,
          );
        else await (task.state === 'waiting' ? this.complete(task) : this.cancelOrder(task));
      } catch (error) {
        Logger.error(`${task.externalId}: ${String(error)}`, LOG);
        if (isRefusal(error)) await this.tasks().update({ id: task.id, state: task.state }, { state: 'failed' });
      }
  }

  private async cancelOrder(task: CashbackTask): Promise<void> {
    if (task.serviceId) await this.client.orders.cancel(task.serviceId);
    await this.tasks().update(task.id, { state: 'cancelled' });
  }

  private async complete(task: CashbackTask): Promise<void> {
    const { content, ...paid } = task.sale!;
    const { order } = await this.client.orders.put(task.externalId, content);
    const { id: serviceId, version } = order;
    const { outcome } = await this.client.orders.pay(serviceId, { ...paid, version, total: content.total });
    if (outcome === 'pay_back') throw new Refused('the order was cancelled, changed or completed at the service');
    if (outcome === 'completed') {
      Object.assign(task, { serviceId, state: 'completed' });
      await this.tasks().update(task.id, { serviceId, state: 'completed' });
      return;
    }
    // The cashback has expired since it was held. The customer has paid the rest, so the shop gives a discount.
    Logger.error(`${task.externalId}: ${paid.redeem} of cashback is lost, and becomes a discount`, LOG);
    const amount = task.amount - task.cashback;
    const eligible_total = fromMinor(Math.min(amount, toMinor(content.eligible_total!)));
    const sale = { ...paid, redeem: '0.00', content: { ...content, total: fromMinor(amount), eligible_total } };
    Object.assign(task, { amount, cashback: 0, sale });
    await this.tasks().update(task.id, { amount, cashback: 0, sale });
    await this.complete(task);
  }

  private async refund({ id, externalId, cashback, refund }: CashbackTask, sale: CashbackTask): Promise<void> {
    if (sale.state !== 'completed') return;
    const { cashback_returned } = await this.client.refunds.create(sale.serviceId!, refund!);
    await this.tasks().update(id, { state: 'completed' });
    if (toMinor(cashback_returned) !== cashback)
      Logger.error(
        `${externalId} returned ${cashback_returned}, not ${fromMinor(cashback)}: correct the payments`,
        LOG,
      );
  }

  /** Runs the work unless the event was applied, in one transaction with its unique key. */
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

  /** Cancels the cashback payment of a cart whose hold has ended, and passes the event on to the shop. */
  async apply(ctx: RequestContext, event: Event): Promise<void> {
    const externalId = event.type === 'order.expired' ? event.data.order.external_id : '';
    const task = await this.tasks(ctx).findOneBy({ externalId, state: 'held' });
    const order = task && (await this.orders.findOne(ctx, task.orderId, []));
    const channel = task && (await this.channels.findOne(ctx, task.channelId));
    if (order?.active && channel) await this.cancelPayment(ctx.copy(channel), order.id);
    await this.events.publish(new CashbackEvent(ctx, event));
  }
}
