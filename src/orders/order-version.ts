import { Problem } from '../common/problem.js';
import type { Order } from './order.entity.js';

/** Returns the members that every change of an order changes too. The clocks of two instances can differ. */
export function nextVersion({ version, updatedAt }: Order, now: Date): Pick<Order, 'version' | 'updatedAt'> {
  return { version: version + 1, updatedAt: updatedAt > now ? updatedAt : now };
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
