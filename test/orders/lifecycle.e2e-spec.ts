import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { expectProblem } from '../support/expectations.js';
import type { Refund } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();

interface Edge {
  from: string;
  to: string;
  /** Undefined for what time does. */
  operation: string | undefined;
}

/** The transitions in the diagram of README.md. */
const LABELED = Array.from(
  readFileSync('README.md', 'utf8').matchAll(/^ +(\w+) --> (\w+): (.+)$/gm),
  ([, from = '', to = '', label = '']) => ({ from, to, label }),
);
/** What undoes a refund is an operation of the refund, which its `voidable` offers, and not of the order. */
const isVoid = ({ label }: { label: string }): boolean => label.startsWith('POST …/void');
const EDGES = LABELED.filter((edge) => !isVoid(edge)).map(({ from, to, label }): Edge => {
  const name = /\((\w+)\)$/.exec(label)?.[1] ?? /^POST ….(\w+?)s?$/.exec(label)?.[1];
  return { from, to, operation: label === 'expires_at passes' ? undefined : (name ?? `unknown: ${label}`) };
});
const VOIDS = LABELED.filter(isVoid).map(({ from, to }) => `${from} --> ${to}`);
/** They change an order that keeps its status. */
const WITHOUT_A_STATUS = ['hold', 'amend', 'change_customer'];

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort();

describe('the lifecycle of an order', () => {
  it('undoing the refunds of an order takes it through the statuses of the diagram', async () => {
    const seen: string[] = [];
    const undo = async (...amounts: string[]): Promise<void> => {
      const order = await merchant.completed();
      const refunds: Refund[] = [];
      for (const amount of amounts) refunds.unshift(await merchant.refund(order, amount));
      for (const refund of refunds) {
        const { status: from } = await merchant.order(order);
        await merchant.voidRefund(refund);
        seen.push(`${from} --> ${(await merchant.order(order)).status}`);
      }
    };
    await undo('1.00', '2.00', '147.00');
    await undo('150.00');
    expect(sorted(seen)).toEqual(sorted(VOIDS));
  });

  it.each([
    ['pending', [], 'refunds'],
    ['expired', [], 'refunds'],
    ['completed', ['complete'], 'cancel'],
    ['cancelled', ['cancel'], 'complete'],
    ['partially_refunded', ['complete', '1.00'], 'cancel'],
    ['refunded', ['complete', '150.00'], 'cancel'],
  ])('the operations and the allowed statuses of a 409 for a %s order are those of the diagram', async (...of) => {
    const [status, path, refused] = of;
    const order = await merchant.create();
    const refund = (external_id: string, amount: string) => ({ external_id, amount });
    const post = (operation: string, body: unknown = {}) =>
      merchant.client.post(`/orders/${order.id}/${operation}`, body);
    for (const step of path) await (/^\d/.test(step) ? post('refunds', refund('DEV-1', step)) : post(step));
    if (status === 'expired') await service.clock.advance({ minutes: 30 });
    const answer = await post(refused, refused === 'refunds' ? refund('DEV-1', '1.00') : {});
    expectProblem(answer, 409, 'invalid_transition');
    const edges = EDGES.filter(({ from, operation }) => from === status && operation !== undefined);
    const setting = edges.filter(({ operation = '' }) => !WITHOUT_A_STATUS.includes(operation));
    expect({
      status: answer.body.current_status,
      operations: sorted(answer.body.operations as string[]),
      allowed: sorted(answer.body.allowed as string[]),
    }).toEqual({
      status,
      operations: sorted(edges.map(({ operation = '' }) => operation)),
      allowed: sorted(setting.map(({ to }) => to)),
    });
  });
});
