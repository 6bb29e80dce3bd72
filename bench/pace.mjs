// @ts-check
/** @import { Figures, Step } from './load.mjs' */
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { toFigures } from './load.mjs';

/** Requests in progress at a time; more wait for a connection. */
const CONNECTIONS = 50;

/**
 * Sends a request at a steady rate, whether or not the earlier ones have been answered. The times count from the moment
 * at which a request was due, so a server that stops for a while is not asked less.
 *
 * @param {object} options
 * @param {string} options.url
 * @param {Step} options.step
 * @param {number} options.perSecond
 * @param {number} options.seconds
 * @returns {Promise<Figures>}
 */
export async function pace({ url, step, perSecond, seconds }) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const answers = { times: /** @type {number[]} */ ([]), answered: 0, refused: 0 };
  const running = [];
  const startedAt = performance.now();
  for (let sent = 0; sent < perSecond * seconds;) {
    const due = Math.min(perSecond * seconds, ((performance.now() - startedAt) / 1000) * perSecond);
    for (; sent < due; sent += 1) {
      const dueAt = startedAt + (sent / perSecond) * 1000;
      running.push(
        send(agent, url, step).then((isAccepted) => {
          answers.times.push(performance.now() - dueAt);
          answers.answered += 1;
          if (!isAccepted) answers.refused += 1;
        }),
      );
    }
    await sleep(1);
  }
  await Promise.all(running);
  const elapsed = (performance.now() - startedAt) / 1000;
  agent.destroy();
  return toFigures(answers, elapsed);
}

/** @param {Agent} agent @param {string} url @param {Step} step @returns {Promise<boolean>} whether it was a 2xx */
function send(agent, url, step) {
  const { method, path, headers, body = '' } = step.request({}) ?? {};
  return new Promise((resolve) => {
    const sent = httpRequest(url + path, { agent, method, headers, timeout: 10_000 }, (response) => {
      response.resume();
      response.once('close', () => resolve(response.complete && response.statusCode?.toString()[0] === '2'));
    });
    sent.once('timeout', () => sent.destroy());
    sent.once('error', () => resolve(false));
    sent.end(body);
  });
}
