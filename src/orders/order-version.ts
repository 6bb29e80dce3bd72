import { Problem } from '../common/problem.js';
import type { Order } from './order.entity.js';

/** Returns when the order last changed. Orders of earlier releases have no `updatedAt`: their latest instant counts. */
export function lastChange({ updatedAt, createdAt, completedAt, cancelledAt }: Order): Date {
  return [updatedAt, completedAt, cancelledAt].reduce<Date>(
    (last, instant) => (instant !== null && instant > last ? instant : last),
    createdAt,
  );
}

/** Returns the members that every change of an order changes too. The clocks of two instances can differ. */
export function nextVersion(order: Order, now: Date): Pick<Order, 'version' | 'updatedAt'> {
  const last = lastChange(order);
  return { version: order.version + 1, updatedAt: last > now ? last : now };
}

/**
 * @param versions the versions that the caller allows; undefined allows any.
 * @throws Problem precondition_failed.
 */
export function requireVersion({ version }: Order, versions: readonly string[] | undefined): void {
  if (versions === undefined || versions.includes(String(version))) return;
  throw new Problem('precondition_failed', {
    detail: `the order has version ${version}, which If-Match does not name`,
  });
}
