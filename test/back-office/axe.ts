import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What depends on the texts of a language. */
export const OF_TEXTS = [
  'button-name',
  'link-name',
  'label',
  'aria-input-field-name',
  'document-title',
  'html-lang-valid',
];

interface Finding {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

/** What axe finds serious in a page, or in what `within` selects. @param rules the only ones */
export async function axeFindings(page: Page, rules?: string[], within = 'html'): Promise<string[]> {
  // As the browser's own tools do, beside the content security policy of the page.
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(AXE);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const { violations } = await page.evaluate<{ violations: Finding[] }>(
    `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)})`,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
}
