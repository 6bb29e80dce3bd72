import { Injectable } from '@nestjs/common';
import { type WalletAggregate } from '../cashback/wallet-aggregate.js';
import { type Caller } from '../platform/values/caller.js';
import { isDocument } from '../platform/values/document.js';
import { parseMoney } from '../platform/values/money.js';
import { type Fault, validationFailed } from '../platform/values/problem.js';
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
  hold(caller: Caller, orderId: string, request: SetRedemptionDto, versions: Versions): Promise<OrderDto> {
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
  async amend(caller: Caller, orderId: string, request: AmendOrderDto, versions: Versions): Promise<OrderDto> {
    const content = readContent(request);
    const origin = { by: caller.apiUserId, versions };
    const lowersHold = request.redeem === 'maximum';
    const amended = await this.transactions.run(caller.merchantId, orderId, {
      needs: ({ heldCents }) => (lowersHold ? { spendCents: heldCents } : {}),
      perform: (order, wallet) => {
        refuseIdentity(order, request);
        const isOfOther = request.document !== undefined && request.document !== order.document;
        if (!isOfOther || order.heldCents > 0)
          order.amend(wallet, { ...content, ...documentOf(request) }, lowersHold, origin);
        return isOfOther;
      },
    });
    const { document } = request;
    if (!amended.result || document === undefined) return viewOf(amended);
    return viewOf(await this.customerChanges.amend(caller, orderId, { ...content, document }, origin));
  }

  /** @throws Problem not_found, and those of `Order.complete`. */
  complete(caller: Caller, orderId: string, request: CompleteOrderDto, versions: Versions): Promise<OrderDto> {
    const sent = {
      redeemCents: request.redeem === undefined ? undefined : parseMoney(request.redeem),
      paymentMethods: request.payment_methods && parsePaymentMethods(request.payment_methods),
    };
    return this.#run(caller, orderId, {
      needs: (order, wallet) => needsOf(order, wallet, sent.redeemCents ?? order.heldCents),
      perform: (order, wallet) => order.complete(wallet, sent, { by: caller.apiUserId, versions }),
    });
  }

  /** @throws Problem not_found, and those of `Order.cancel`. */
  cancel(caller: Caller, orderId: string, { reason }: CancelOrderDto, versions: Versions): Promise<OrderDto> {
    const origin = { by: caller.apiUserId, versions };
    return this.#run(caller, orderId, { perform: (order, wallet) => order.cancel(wallet, reason ?? null, origin) });
  }

  async #run({ merchantId }: Caller, orderId: string, useCase: OrderUseCase<void>): Promise<OrderDto> {
    return viewOf(await this.transactions.run(merchantId, orderId, useCase));
  }
}

/** More than the maximum is refused, so its credits are not needed. */
function needsOf(order: Order, wallet: WalletAggregate, heldCents: number) {
  const takeBackCents = wallet.claimedOfHeld(order.id);
  if (heldCents === order.heldCents) return { takeBackCents };
  return { takeBackCents, spendCents: Math.min(heldCents, order.maximum(wallet.availableCents).maximumCents) };
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
  toOrderDto(order, wallet.availableCents, wallet.now);
