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

const PLOT = 172;
const TOP = 22;
const LEFT = 52;
/** Of a name, and how wide a letter is at most. */
const LINE = 14;
const LETTER = 7;
/** Up to this number, all bars have their name and their value. */
const FEW = 8;

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
  const y = (value: number): number => TOP + PLOT * (1 - Math.max(value, 0) / most);
  const center = (index: number): number => LEFT + step * (index + 0.5);
  const highest = bars.reduce((top, bar, index) => (bar.value > bars[top]!.value ? index : top), 0);
  const isShort = bars.length <= FEW;
  const every = isShort ? 1 : Math.ceil(bars.length / Math.max(Math.floor((width - LEFT) / 64), 1));
  const barOf = (index: number, wide: number): { x: number; width: number; rx: number } => ({
    ...{ x: center(index) - wide / 2, width: wide, rx: Math.min(2, wide / 4) },
  });
  const heightOf = (base: number, value: number): { y: number; height: number } => ({
    ...{ y: y(base + value), height: Math.max(y(base) - y(base + value), value > 0 ? 1 : 0) },
  });
  /** Names of few bars have two lines, where one is too long. */
  const linesOf = (name: string): string[] => {
    const words = name.split(' ');
    if (!isShort || words.length < 2 || name.length * LETTER < step) return [name];
    const first = words[0]!.length === 1 ? 2 : 1;
    return [words.slice(0, first).join(' '), words.slice(first).join(' ')].filter(Boolean);
  };
  /** Where few names are wider than their bars, every second one is lower. */
  const isTight = isShort && bars.some(({ name }) => linesOf(name).some(({ length }) => length * LETTER > step));
  const height = TOP + PLOT + 10 + LINE * (isTight ? 4 : bars.some(({ name }) => linesOf(name).length > 1) ? 2 : 1);
  const topOf = ({ base = 0, value }: Bar): number => base + value;
  /** All of few; otherwise the highest one, and the last, unless its text would be on other bars. */
  const isLabeled = (index: number): boolean => {
    if (isShort || index === highest) return true;
    const from = Math.floor(bars.length - (bars[index]!.text.length * LETTER) / step) - 1;
    return (
      index === bars.length - 1 && bars.slice(Math.max(from, 0), index).every((bar) => topOf(bar) < topOf(bars[index]!))
    );
  };
  const labelOf = ({ text, value }: Bar): string => (isShort && text.length * LETTER > step ? rough(value) : text);
  /** A text of many bars stays within the picture, right of its left edge. */
  const anchor = (x: number, { length }: string, left: number): 'start' | 'middle' | 'end' => {
    const half = (length * LETTER) / 2;
    return isShort ? 'middle' : x + half > width ? 'end' : x - half < left ? 'start' : 'middle';
  };
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
        <svg
          viewBox={`0 0 ${width} ${height}`}
          height={height}
          aria-hidden="true"
          onPointerMove={pointAt}
          onPointerDown={pointAt}
        >
          {at !== undefined && <rect class="at" x={LEFT + step * at} y={TOP} width={step} height={PLOT} />}
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
          {bars.map((bar, index) => {
            const { name, value, base = 0, tone = '', before } = bar;
            return (
              <g key={index}>
                <rect class={`bar-of ${tone}`} {...barOf(index, Math.min(step * 0.7, 48))} {...heightOf(base, value)} />
                {before && (
                  <rect class="before" {...barOf(index, Math.min(step * 0.94, 64))} {...heightOf(0, before.value)} />
                )}
                {index % every === 0 && (
                  <text
                    x={center(index)}
                    y={TOP + PLOT + 18 + (isTight && index % 2 === 1 ? 2 * LINE : 0)}
                    text-anchor={anchor(center(index), name, 0)}
                  >
                    {linesOf(name).map((line, at) => (
                      <tspan key={at} x={center(index)} dy={at * LINE}>
                        {line}
                      </tspan>
                    ))}
                  </text>
                )}
                {isLabeled(index) && value > 0 && (
                  <text
                    class="value"
                    x={center(index)}
                    y={y(base + value) - 6}
                    text-anchor={anchor(center(index), bar.text, LEFT)}
                  >
                    {labelOf(bar)}
                  </text>
                )}
              </g>
            );
          })}
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
