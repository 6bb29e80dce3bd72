import { Client } from '../client.js';
import type { Workload } from './workload.js';

/** The number of sales that a merchant's system repeats at once. */
const WORKERS = 3;

/** A pending order can be held and amended; one that was already completed or cancelled in the dump no longer can. */
const BEFORE_THE_END = ['hold', 'amend'];

/**
 * Does what a merchant's system does after the database was restored from a backup: it sends every request that was
 * answered again, in the order of each sale. What was lost gets a new ID, which the later requests then use.
 *
 * @returns responses that are neither a success nor a refused hold or amendment of an order that has ended
 */
export async function catchUp(url: string, token: string, { sales }: Workload): Promise<string[]> {
  const client = new Client({ url }, token);
  const unexpected: string[] = [];
  const open = sales.filter(({ orderId }) => orderId !== undefined).values();
  const work = async (): Promise<void> => {
    for (const { intents } of open) {
      const currentIds = new Map<string, string>();
      for (const { kind, method, path, body, told } of intents.filter(({ answered }) => answered > 0)) {
        const current = path.split('/').map((part) => currentIds.get(part) ?? part);
        const answer = await client.send(method, current.join('/'), { body });
        if (answer.status < 300) currentIds.set(String(told!.id), answer.body.id);
        const hasEnded = BEFORE_THE_END.includes(kind) && answer.body.code === 'invalid_transition';
        if (answer.status >= 300 && !hasEnded)
          unexpected.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return unexpected;
}
