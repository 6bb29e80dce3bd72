import { Injectable } from '@nestjs/common';
import { refuseNewCustomer } from '../cashback/new-customer.js';
import { type WalletAggregate } from '../cashback/wallet-aggregate.js';
import { type Caller } from '../platform/values/caller.js';
import { isDocument } from '../platform/values/document.js';
import { parseMoney } from '../platform/values/money.js';
import { type Fault, validationFailed } from '../platform/values/problem.js';
import { type Written } from '../platform/values/written.js';
import { CustomerChangesService } from './customer-changes.service.js';
import { parsePaymentMethods, readContent, type Versions } from './order-content.js';
import {
  type AmendOrderDto,
  type CancelOrderDto,
  type CompleteOrderDto,
  type SetRedemptionDto,
} from './order-requests.dto.js';
import { OrderTransactionsService, type OrderUseCase } from './order-transactions.service.js';
import { type OrderDto, toOrderDto } from './order.dto.js';
import { type Order } from './order.entity.js';

/**
 * What happens to an order until it is completed or cancelled. Repeating a request that has succeeded returns the same
 * result again. The rules and the problems are those of `Order`.
 */
@Injectable()
export class OrderLifecycleService {
  constructor(
    private readonly transactions: OrderTransactionsService,
    private readonly customerChanges: CustomerChangesService,
  ) {}

  /** @throws Problem not_found, and those of `Order.hold`. */
  hold(caller: Caller, orderId: string, request: SetRedemptionDto, versions: Versions): Promise<Written<OrderDto>> {
    const amountCents = parseMoney(request.amount);
    const expiresAt = request.expires_at === undefined ? undefined : new Date(request.expires_at);
    return this.#run(caller, orderId, {
      needs: (order, wallet) => needsOf(order, wallet, amountCents),
      perform: (order, wallet) => order.hold(wallet, amountCents, expiresAt, { by: caller.apiUserId, versions }),
    });
  }

  /**
   * @throws Problem payments_exceed_total; not_found; validation_failed for another external ID; and those of
   *   `Order.amend`.
   */
  async amend(caller: Caller, orderId: string, request: AmendOrderDto, versions: Versions): Promise<Written<OrderDto>> {
    const content = readContent(request);
    const origin = { by: caller.apiUserId, versions };
    const lowersHold = request.redeem === 'maximum';
    let isOfOther = false;
    const amended = await this.#run(caller, orderId, {
      needs: ({ heldCents }) => (lowersHold ? { spendCents: heldCents } : {}),
      perform: (order, wallet) => {
        refuseIdentity(order, request);
        isOfOther = request.document !== undefined && request.document !== order.document;
        if (isOfOther) refuseNewCustomer(request.document!, order.policy);
        if (!isOfOther || order.heldCents > 0)
          order.amend(wallet, { ...content, ...documentOf(request) }, lowersHold, origin);
      },
    });
    const { document } = request;
    if (!isOfOther || document === undefined) return amended;
    const moved = await this.customerChanges.amend(caller, orderId, { ...content, document }, origin);
    return { dto: viewOf(moved), replayed: false };
  }

  /** @throws Problem not_found, and those of `Order.complete`. */
  complete(caller: Caller, orderId: string, request: CompleteOrderDto, versions: Versions): Promise<Written<OrderDto>> {
    return this.#run(caller, orderId, completing(caller, request, versions));
  }

  /**
   * Creates an order and completes it, or does nothing.
   *
   * @returns undefined if the merchant has an order with this external ID.
   * @throws Problem those of `Order.complete`.
   */
  async sell(caller: Caller, order: Order, request: CompleteOrderDto): Promise<OrderDto | undefined> {
    const sold = await this.transactions.runNew(order, completing(caller, request, undefined));
    return sold && viewOf(sold);
  }

  /** @throws Problem not_found, and those of `Order.cancel`. */
  cancel(caller: Caller, orderId: string, { reason }: CancelOrderDto, versions: Versions): Promise<Written<OrderDto>> {
    const origin = { by: caller.apiUserId, versions };
    return this.#run(caller, orderId, { perform: (order, wallet) => order.cancel(wallet, reason ?? null, origin) });
  }

  /** An order that is due expires before: that is no change by the request. */
  async #run({ merchantId }: Caller, orderId: string, useCase: OrderUseCase<void>): Promise<Written<OrderDto>> {
    const done = await this.transactions.run(merchantId, orderId, {
      ...useCase,
      perform: (order, ...loaded) => {
        const { version } = order;
        useCase.perform(order, ...loaded);
        return order.version === version;
      },
    });
    return { dto: viewOf(done), replayed: done.result };
  }
}

function completing(caller: Caller, request: CompleteOrderDto, versions: Versions): OrderUseCase<void> {
  const sent = {
    redeemCents: request.redeem === undefined ? undefined : parseMoney(request.redeem),
    paymentMethods: request.payment_methods && parsePaymentMethods(request.payment_methods),
  };
  return {
    needs: (order, wallet) => needsOf(order, wallet, sent.redeemCents ?? order.heldCents),
    perform: (order, wallet) => order.complete(wallet, sent, { by: caller.apiUserId, versions }),
  };
}

/** More than the maximum is refused, so its credits are not needed. */
function needsOf(order: Order, wallet: WalletAggregate, heldCents: number) {
  const takeBackCents = wallet.claimedOfHeld(order.id);
  if (heldCents === order.heldCents) return { takeBackCents };
  return { takeBackCents, spendCents: Math.min(heldCents, order.maximum(wallet.spendable).maximumCents) };
}

const documentOf = ({ document }: AmendOrderDto) => (document === undefined ? {} : { document });

/** An amendment may repeat what identifies an order. It changes only the document, of a customer who is not erased. */
function refuseIdentity(order: Order, { external_id, document }: AmendOrderDto): void {
  const faults: Fault[] = [];
  if (external_id !== undefined && external_id !== order.externalId)
    faults.push({ pointer: '/external_id', detail: 'must be the external_id of the order, which cannot be changed' });
  const isPseudonym = document !== undefined && !isDocument(document);
  if (document !== undefined && document !== order.document && (order.isErased || isPseudonym))
    faults.push({
      pointer: '/document',
      detail: order.isErased ? 'cannot be changed: the customer was erased' : 'must be a CPF or a CNPJ',
    });
  if (faults.length > 0) throw validationFailed(faults);
}

const viewOf = ({ order, wallet }: { order: Order; wallet: WalletAggregate }): OrderDto =>
  toOrderDto(order, wallet.spendable, wallet.now);
