import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { byOf } from '../platform/http/by.dto.js';
import { refuseNewCustomer } from '../cashback/new-customer.js';
import { type WalletAggregate } from '../cashback/wallet-aggregate.js';
import { ownerKey } from '../cashback/wallet.entity.js';
import { requireStored, WalletStore } from '../cashback/wallet.store.js';
import { SharedStatements } from '../platform/database/shared.js';
import { type UseCase } from '../platform/database/unit-of-work.js';
import { type Caller } from '../platform/values/caller.js';
import { formatMoney } from '../platform/values/money.js';
import { type HoldingOrder, notFound, validationFailed } from '../platform/values/problem.js';
import { type Written } from '../platform/values/written.js';
import { type ChangeCustomerDto, type CustomerChangeDto } from './customer-change.dto.js';
import { CustomerChange } from './customer-change.entity.js';
import { type AmendedContent, Origin, Versions } from './order-content.js';
import { toOrderDto } from './order.dto.js';
import { Order } from './order.entity.js';
import { type LoadedOrder, OrderStore } from './order.store.js';

/** An order with the locked wallets of its customer and of another one. */
interface Moving extends LoadedOrder {
  manager: EntityManager;
  other: WalletAggregate;
  heldBy: HoldingOrder[];
}

interface Moved {
  order: Order;
  wallet: WalletAggregate;
  change?: CustomerChange;
  /** Whether the correction is not stored yet. */
  isNewChange?: boolean;
}

/** What gives an order another customer. Each has a transaction of its own, because it locks two wallets. */
@Injectable()
export class CustomerChangesService {
  constructor(
    private readonly shared: SharedStatements,
    private readonly orders: OrderStore,
    private readonly wallets: WalletStore,
  ) {}

  /** Amends an order to content of another customer. @throws Problem those of `Order.amend`. */
  async amend(
    { merchantId }: Caller,
    orderId: string,
    content: AmendedContent & { document: string },
    origin: Origin,
  ): Promise<{ order: Order; wallet: WalletAggregate }> {
    return this.#move(merchantId, orderId, content.document, ({ order, other }) => {
      order.amend(other, content, false, origin);
      return Promise.resolve({ order, wallet: other });
    });
  }

  /**
   * Corrects the customer of a completed order, once.
   *
   * @throws Problem not_found; validation_failed if it is the order's customer already; and those of
   *   `Order.changeCustomer`.
   */
  async change(
    { merchantId, apiUserId: by }: Caller,
    orderId: string,
    { document, reason }: ChangeCustomerDto,
    versions: Versions,
  ): Promise<Written<CustomerChangeDto>> {
    const { order, wallet, change, isNewChange } = await this.#move(merchantId, orderId, document, async (moving) => {
      const { order, manager, wallet, other, heldBy } = moving;
      const existing = await manager.findOneBy(CustomerChange, { orderId, merchantId });
      if (existing !== null && document === order.document) return { order, wallet, change: existing };
      if (document === order.document)
        throw validationFailed([{ pointer: '/document', detail: 'must not be the document that the order has' }]);
      refuseNewCustomer(document, order.policy);
      const version = order.version + 1;
      const { movedCents } = order.changeCustomer({ from: wallet, to: other }, heldBy, reason, { by, versions });
      const change: CustomerChange = {
        orderId,
        merchantId,
        version,
        previousWalletId: wallet.row.id,
        walletId: other.row.id,
        movedCents,
        createdAt: other.now,
        createdBy: by,
      };
      return { order, wallet: other, change, isNewChange: true };
    });
    const dto = {
      order: toOrderDto(order, wallet.spendable, wallet.now),
      moved: formatMoney(change.movedCents),
      not_moved: formatMoney(order.lostCents),
      reason: order.customerChangeReason,
      created_at: change.createdAt,
      created_by: byOf(change.createdBy),
    };
    return { dto, replayed: isNewChange !== true };
  }

  /**
   * Locks the order, then both wallets in the order of documents. If a wallet is missing, it is created first, unless
   * the request is refused.
   */
  #move<T extends Moved>(
    merchantId: string,
    orderId: string,
    document: string,
    perform: (moving: Moving) => Promise<T>,
  ): Promise<T> {
    const useCase: UseCase<T> = async (manager, record) => {
      const [order] = await this.orders.lock(manager, [{ merchantId, orderId }], undefined);
      if (order === undefined) throw notFound('no order has this ID');
      const owners = [order.document, document].map((of) => ({ merchantId, document: of, order }));
      const locked = await this.wallets.lockAll(manager, owners);
      const wallets = owners.map((owner) => locked.get(ownerKey(owner))!);
      const [wallet, other] = wallets as [WalletAggregate, WalletAggregate];
      const stored = { ...order } as Order;
      // The refusal of an order that is due says that it has expired. The sweep writes it.
      order.expireIfDue(wallet);
      const heldBy = order.wasCompleted ? await this.wallets.loadEarned(manager, wallet, order.id) : [];
      const result = await perform({ manager, order, wallet, other, stored, isNew: false, heldBy });
      requireStored(wallets);
      if (result.isNewChange) await manager.insert(CustomerChange, result.change!);
      await this.orders.save(manager, record, [{ order, wallet, stored, isNew: false }], [other]);
      return result;
    };
    return this.wallets.creating(() => this.shared.transaction(merchantId, useCase));
  }
}
