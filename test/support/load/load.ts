import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Outcome, Plan, Stream } from './load-process.mjs';

const PROGRAM = path.join(import.meta.dirname, 'load-process.mjs');

/**
 * Generates load on a service from a separate process.
 *
 * @returns the outcome of each stream by its name
 */
export async function load(url: string, seconds: number, streams: Stream[]): Promise<Record<string, Outcome>> {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify({ url, seconds, streams } satisfies Plan));
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (child.exitCode !== 0) throw new Error(`the load process exited with ${child.exitCode}`);
  return JSON.parse(output) as Record<string, Outcome>;
}

/** The share of 2xx responses, from 0 to 1. */
export function successShare({ statuses }: Outcome): number {
  const all = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  return successes({ statuses }) / all;
}

/** The number of 2xx responses. */
export function successes({ statuses }: Pick<Outcome, 'statuses'>): number {
  return Object.entries(statuses).reduce((sum, [status, count]) => sum + (/^2\d\d$/.test(status) ? count : 0), 0);
}

/** A request for a new order with a different external ID each time. */
export function orderRequest(token: string, members: Record<string, unknown> = {}): Stream['requests'][number] {
  const body = {
    external_id: 'LOAD-%n',
    items: [{ id: 'sku-1', price: '150.00', description: 'Café em grãos' }],
    document: '52998224725',
    total: '150.00',
    payment_methods: [{ id: 'credit_card', amount: '150.00' }],
    ...members,
  };
  return { method: 'POST', path: '/orders', token, body: JSON.stringify(body) };
}
