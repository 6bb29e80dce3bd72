import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { rough, t } from './format.js';
import { Chips } from './ui.js';

export interface Bar {
  name: string;
  /** The height only: people read `text`. */
  value: number;
  text: string;
  /** Where the bar begins, for one that shows how a balance changes. */
  base?: number;
  tone?: 'down' | 'whole';
  /** The same of the period before. */
  before?: { value: number; text: string };
}

const HEIGHT = 220;
const TOP = 22;
const BOTTOM = 24;
const LEFT = 52;

/** The next number that reads well on an axis. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

/** Bars with axes. Mouse, touch and arrow keys say the value of each; readers have them as a table. */
export function Chart({ caption, bars, legend }: { caption: string; bars: Bar[]; legend?: string }): JSX.Element {
  const [width, setWidth] = useState(600);
  const [at, point] = useState<number>();
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => entry && setWidth(Math.max(entry.contentRect.width, 200)));
    watcher.observe(frame.current!);
    return () => watcher.disconnect();
  }, []);
  const tops = bars.map(({ base = 0, value, before }) => Math.max(base + value, before?.value ?? 0));
  // There is no half an order.
  const areWhole = bars.every(({ value }) => Number.isInteger(value));
  const part = roundUp(Math.max(...tops, 1) / 4);
  const most = (areWhole ? Math.ceil(part) : part) * 4;
  const step = (width - LEFT) / Math.max(bars.length, 1);
  const y = (value: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - Math.max(value, 0) / most);
  const center = (index: number): number => LEFT + step * (index + 0.5);
  const highest = bars.reduce((top, bar, index) => (bar.value > bars[top]!.value ? index : top), 0);
  const every = Math.ceil(bars.length / Math.max(Math.floor((width - LEFT) / 64), 1));
  /** A text stays within the picture: half of it is about 4 pixels a letter. */
  const anchor = (x: number, { length }: string): 'start' | 'middle' | 'end' =>
    x + length * 4 > width ? 'end' : x - length * 4 < LEFT ? 'start' : 'middle';
  const chosen = at === undefined ? undefined : bars[at];
  const move = (index: number): void => point(Math.min(Math.max(index, 0), bars.length - 1));
  const pointAt = ({ offsetX }: { offsetX: number }): void => move(Math.floor((offsetX - LEFT) / step));
  const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, Home: -bars.length, End: bars.length };
  return (
    <figure class="card chart stack">
      <figcaption>{caption}</figcaption>
      <div
        ref={frame}
        tabIndex={0}
        role="group"
        aria-label={`${caption}. ${t.chart.keys}`}
        onKeyDown={(event) => {
          const by = steps[event.key];
          if (by === undefined) return;
          event.preventDefault();
          move((at ?? (by > 0 ? -1 : bars.length)) + by);
        }}
      >
        <svg viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true" onPointerMove={pointAt} onPointerDown={pointAt}>
          {at !== undefined && (
            <rect class="at" x={LEFT + step * at} y={TOP} width={step} height={HEIGHT - TOP - BOTTOM} />
          )}
          {[0, 1, 2, 3, 4].map((part) => {
            const value = (most / 4) * part;
            return (
              <g key={part}>
                <line x1={LEFT} x2={width} y1={y(value)} y2={y(value)} />
                <text x={LEFT - 8} y={y(value) + 4} text-anchor="end">
                  {rough(value)}
                </text>
              </g>
            );
          })}
          {bars.map(({ name, value, base = 0, tone = '' }, index) => (
            <g key={index}>
              <rect
                class={`bar-of ${tone}`}
                x={LEFT + step * (index + 0.15)}
                y={y(base + value)}
                width={step * 0.7}
                height={Math.max(y(base) - y(base + value), value > 0 ? 1 : 0)}
                rx={Math.min(2, step / 4)}
              />
              {index % every === 0 && (
                <text x={center(index)} y={HEIGHT - 6} text-anchor={anchor(center(index), name)}>
                  {name}
                </text>
              )}
            </g>
          ))}
          {bars.some(({ before }) => before) && (
            <polyline
              class="before"
              points={bars.map(({ before }, index) => `${center(index)},${y(before?.value ?? 0)}`).join(' ')}
            />
          )}
          {[...new Set([highest, bars.length - 1])].map(
            (index) =>
              bars[index] !== undefined &&
              bars[index].value > 0 && (
                <text
                  key={index}
                  class="value"
                  x={center(index)}
                  y={y((bars[index].base ?? 0) + bars[index].value) - 6}
                  text-anchor={anchor(center(index), bars[index].text)}
                >
                  {index !== highest && Math.abs(center(index) - center(highest)) < 90 ? '' : bars[index].text}
                </text>
              ),
          )}
        </svg>
        <output>
          {chosen
            ? [`${chosen.name}: ${chosen.text}`, chosen.before && t.chart.before(chosen.before.text)]
                .filter(Boolean)
                .join(' · ')
            : legend}
        </output>
      </div>
      <table class="hidden">
        <caption>{caption}</caption>
        <tbody>
          {bars.map(({ name, text, before }, index) => (
            <tr key={index}>
              <th scope="row">{name}</th>
              <td>{text}</td>
              {before && <td>{t.chart.before(before.text)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

/** Bars of what somebody chooses to see. */
export function Measures<T extends string>(props: {
  label: string;
  options: [T, string][];
  barsOf: (name: T) => Bar[];
  legend: string;
}): JSX.Element {
  const [at, choose] = useState(props.options[0]![0]);
  const text = props.options.find(([name]) => name === at)?.[1] ?? '';
  return (
    <>
      <Chips label={props.label} options={props.options} at={at} choose={choose} />
      <Chart caption={text} bars={props.barsOf(at)} legend={props.legend} />
    </>
  );
}
