// @ts-check
/** @import { Lab } from '../lab.mjs' @import { Plan } from '../bench.mjs' @import { Goal } from '../parts/events.mjs' */
/** @import { Step } from '../load.mjs' */
import { drive } from '../load.mjs';
import { logIn } from '../logins.mjs';
import { gets } from '../operations.mjs';
import { median, printTable } from '../report.mjs';
import { openShop } from '../seed.mjs';
import { addEvents, RARE_TYPE } from './seed.mjs';

/** How often each page is read in a round. */
const REPEATS = 20;

/** How much longer a page may take than the first one, in the same run. */
const MARGIN = 1.25;

/**
 * Pages of 100 events of a long feed, with one connection.
 *
 * @param {Lab} lab @param {Plan} plan
 */
export async function measurePages(lab, { events, rounds }) {
  const shop = await openShop(lab, 'bench_pages');
  const { url, stop } = await lab.startService(shop.schema);
  const token = await logIn(url);
  lab.say(`A feed of ${events} events`);
  await addEvents(lab, shop, { url, token, count: events, prefix: '01950000' });
  const page = (/** @type {number} */ after, more = '') => `/events?limit=100&after=${after}${more}`;
  const middle = Math.floor(events / 2);
  const steps = gets(token, {
    beginning: page(0),
    middle: page(middle),
    end: page(events - 100),
    'rare type, beginning': page(0, `&types=${RARE_TYPE}`),
    'rare type, middle': page(middle, `&types=${RARE_TYPE}`),
  });
  const pages = await readPages(url, steps, rounds);
  await stop();
  printTable(
    `A page of 100 of ${events} events`,
    ['page', 'p50 ms'],
    Object.entries(pages).map(([name, ms]) => [name, ms.toFixed(1)]),
  );
  const ratio = (pages['middle'] ?? NaN) / (pages['beginning'] ?? NaN);
  /** @type {Goal[]} */
  const goals = [
    {
      what: `the middle of ${events} events against the beginning`,
      measured: ratio.toFixed(2),
      goal: `at most ${MARGIN}`,
      isMet: ratio <= MARGIN,
    },
  ];
  return { pages, goals };
}

/** @param {string} url @param {Step[]} steps @param {number} rounds @returns {Promise<Record<string, number>>} milliseconds by page */
async function readPages(url, steps, rounds) {
  /** @type {Record<string, number[]>} */
  const times = {};
  for (let round = 0; round <= rounds; round += 1) {
    const { operations } = await drive({ url, steps, connections: 1, amount: steps.length * REPEATS });
    for (const [name, { p50, refused }] of Object.entries(operations)) {
      if (refused > 0) throw new Error(`${name}: ${refused} of ${REPEATS} were refused`);
      // The first round warms up.
      if (round > 0) (times[name] ??= []).push(p50);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]));
}
