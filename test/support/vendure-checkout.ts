import { randomUUID } from 'node:crypto';
import { type Cashback, CashbackError, type Order } from '../../clients/typescript/src/index.js';
import { toMinor } from '../../clients/typescript/src/money.js';
import {
  type Channel,
  RESULT,
  type Result,
  type Sku,
  until,
  type VendureSession,
  type VendureShop,
} from './vendure.js';

/** Quantities. */
export type Goods = Partial<Record<Sku, number>>;

/** What a customer buys, and who it is. */
export interface Purchase {
  channel?: Channel;
  goods: Goods;
  coupon?: boolean;
  shipping?: 'sedex' | 'free';
  cpf?: string;
  /** Whether the shop knows that the CPF is that of the guest. */
  isVerified?: boolean;
}

export interface ShownCashback {
  toReceive: number;
  toRedeem: number | null;
  redeemed: number;
}

interface Payment {
  id: string;
  method: string;
  state: string;
  amount: number;
  refunds: { total: number; state: string }[];
}

interface ShopOrder {
  lines: { id: string; productVariant: { sku: string } }[];
  payments: Payment[];
}

const STATE = '{ __typename ... on Order { state } ... on ErrorResult { message } }';

const input = (mutation: string, type: string): string =>
  `mutation ($input: ${type}!) { ${mutation}(input: $input) ${RESULT} }`;

/** The order of one customer, from the cart on. */
export class Checkout {
  id = '';
  code = '';

  private constructor(
    readonly shop: VendureShop,
    private readonly session: VendureSession,
  ) {}

  /** Fills a cart, and goes to its payment. */
  static async begin(
    shop: VendureShop,
    { channel, goods, coupon, shipping = 'sedex', cpf, isVerified }: Purchase,
    session = shop.session(channel),
  ): Promise<Checkout> {
    const checkout = new Checkout(shop, session);
    await checkout.add(goods);
    const phoneNumber = isVerified ? 'verified' : undefined;
    const guest = { emailAddress: `${randomUUID()}@example.com`, firstName: 'Ana', lastName: 'Lima', phoneNumber };
    await session.send(input('setCustomerForOrder', 'CreateCustomerInput'), { input: guest });
    if (cpf)
      await session.send(input('setOrderCustomFields', 'UpdateOrderInput'), { input: { customFields: { cpf } } });
    if (coupon) await session.send(`mutation { applyCouponCode(couponCode: "DEZ") ${RESULT} }`);
    await session.send(`mutation { setOrderShippingMethod(shippingMethodId: [${shop.ids[shipping]}]) ${RESULT} }`);
    const { id, code } = await session.send<{ id: string; code: string }>('{ activeOrder { id code } }');
    Object.assign(checkout, { id, code });
    await checkout.goTo('ArrangingPayment');
    return checkout;
  }

  async add(goods: Goods): Promise<void> {
    for (const [sku, quantity] of Object.entries(goods))
      await this.session.send(
        `mutation { addItemToOrder(productVariantId: ${this.shop.ids[sku]}, quantity: ${quantity}) ${RESULT} }`,
      );
  }

  /** The cashback that the cart shows. */
  async shown(): Promise<ShownCashback | null> {
    const query = '{ activeOrder { cashback { toReceive toRedeem redeemed } } }';
    return (await this.session.send<{ cashback: ShownCashback | null }>(query)).cashback;
  }

  async goTo(state: string): Promise<void> {
    const result = await this.session.send<Result>(`mutation { transitionOrderToState(state: "${state}") ${STATE} }`);
    if (result.state !== state) throw new Error(result.message);
  }

  /** @returns `Order`, or the type of the refusal */
  async pay(method: string, metadata: object = {}): Promise<string> {
    const query = input('addPaymentToOrder', 'PaymentInput');
    return (await this.session.send<Result>(query, { input: { method, metadata } })).__typename;
  }

  /** The order as administrators see it. */
  order(): Promise<ShopOrder> {
    return this.shop.admin(
      `{ order(id: "${this.id}") { lines { id productVariant { sku } }
        payments { id method state amount refunds { total state } } } }`,
    );
  }

  /** The payments, as `<method> <state> <amount>`. */
  async payments(): Promise<string[]> {
    return (await this.order()).payments.map(({ method, state, amount }) => `${method} ${state} ${amount}`);
  }

  async paymentId(by: string): Promise<string> {
    return (await this.order()).payments.find(({ method }) => method === by)!.id;
  }

  async settle(method: string): Promise<void> {
    await this.shop.admin(`mutation { settlePayment(id: "${await this.paymentId(method)}") { __typename } }`);
  }

  /** Makes a mutation of an administrator. @returns `Order` or `Refund`, or the type of the refusal */
  async staff(mutation: string, type: string, given: object): Promise<string> {
    return (await this.shop.admin<Result>(input(mutation, type), { input: given })).__typename;
  }

  async staffGoesTo(state: string): Promise<void> {
    const query = `mutation { transitionOrderToState(id: "${this.id}", state: "${state}") ${STATE} }`;
    const result = await this.shop.admin<Result>(query);
    if (result.state !== state) throw new Error(result.message);
  }

  /** Refunds units, shipping or an amount. @param by.method of the selected payment; `refused` of one that fails */
  async refund(by: {
    method: string;
    goods?: Goods;
    shipping?: number;
    amount?: number;
    refused?: string;
  }): Promise<string> {
    const { lines } = await this.order();
    const { method, goods = {}, shipping = 0, amount, refused: reason } = by;
    return this.staff('refundOrder', 'RefundOrderInput', {
      lines: lines.flatMap(({ id: orderLineId, productVariant: { sku } }) => {
        const quantity = goods[sku as Sku];
        return quantity === undefined ? [] : [{ orderLineId, quantity }];
      }),
      ...{ shipping, adjustment: 0, paymentId: await this.paymentId(method), ...(amount && { amount }) },
      ...(reason && { reason }),
    });
  }

  /** Changes quantities of an order that is paid. @param refunds by method, of a lower total: amounts, or all of it */
  async modify(goods: Goods, refunds: Record<string, number | undefined>): Promise<void> {
    await this.staffGoesTo('Modifying');
    const { lines } = await this.order();
    const lineOf = (sku: string): string | undefined =>
      lines.find(({ productVariant }) => productVariant.sku === sku)?.id;
    const changes = Object.entries(goods);
    const refundsBy = Object.entries(refunds).map(async ([method, amount]) => ({
      paymentId: await this.paymentId(method),
      amount,
    }));
    const result = await this.staff('modifyOrder', 'ModifyOrderInput', {
      ...{ dryRun: false, orderId: this.id, refunds: await Promise.all(refundsBy) },
      adjustOrderLines: changes
        .filter(([sku]) => lineOf(sku))
        .map(([sku, quantity]) => ({ orderLineId: lineOf(sku), quantity })),
      addItems: changes
        .filter(([sku]) => !lineOf(sku))
        .map(([sku, quantity]) => ({ productVariantId: this.shop.ids[sku], quantity })),
    });
    if (result !== 'Order') throw new Error(result);
  }
}

/** What a shop or the service has of an order, in centavos. */
interface Books {
  total: number;
  redeemed: number;
  money: number;
  refunded: number;
  returned: number;
  paidBack: number;
}

const sum = <T>(list: T[], of: (one: T) => number): number => list.reduce((total, one) => total + of(one), 0);

/** The payments and refunds of the shop. */
async function booksOfShop(checkout: Checkout): Promise<Books> {
  const settled = (await checkout.order()).payments.filter(({ state }) => state === 'Settled');
  const cashback = settled.filter(({ method }) => method === 'cashback');
  const money = settled.filter(({ method }) => method !== 'cashback');
  const refundsOf = ({ refunds }: Payment): number =>
    sum(refunds, ({ total, state }) => (state === 'Failed' ? 0 : total));
  return {
    total: sum(settled, ({ amount }) => amount),
    redeemed: sum(cashback, ({ amount }) => amount),
    money: sum(money, ({ amount }) => amount),
    refunded: sum(settled, refundsOf),
    returned: sum(cashback, refundsOf),
    paidBack: sum(money, refundsOf),
  };
}

/** The order at the service, and those of its modifications. */
export async function ordersOf({ orders }: Cashback, code: string): Promise<Order[]> {
  const found: Order[] = [];
  for (const externalId of [code, `${code}-M1`, `${code}-M2`])
    try {
      found.push(await orders.byExternalId(externalId));
    } catch (error) {
      if (!(error instanceof CashbackError && error.code === 'not_found')) throw error;
    }
  return found;
}

/** What of them is completed. */
function booksOfService(orders: Order[]): Books {
  const completed = orders.filter(({ status }) => /completed|refunded/.test(status));
  return {
    total: sum(completed, ({ total }) => toMinor(total)),
    redeemed: sum(completed, ({ cashback }) => toMinor(cashback.to_redeem.redeemed)),
    money: sum(completed, ({ amount_to_pay }) => toMinor(amount_to_pay)),
    refunded: sum(completed, ({ refunded }) => toMinor(refunded.amount)),
    returned: sum(completed, ({ cashback }) => toMinor(cashback.to_redeem.returned)),
    paidBack: sum(completed, ({ refunded }) => toMinor(refunded.amount_to_pay_back)),
  };
}

interface Comparison {
  shop: Books;
  service: Books;
  orders: Order[];
}

/** Waits until the books are equal. @returns both, also if they never are */
export async function compareBooks(client: Cashback, checkout: Checkout): Promise<Comparison> {
  const read = async (): Promise<Comparison> => {
    const orders = await ordersOf(client, checkout.code);
    return { shop: await booksOfShop(checkout), service: booksOfService(orders), orders };
  };
  const readEqual = async (): Promise<Comparison | undefined> => {
    const books = await read();
    return JSON.stringify(books.shop) === JSON.stringify(books.service) ? books : undefined;
  };
  return until('the books are equal', readEqual).catch(read);
}
