import type { JSX } from 'preact';

const PATHS = {
  menu: 'M3 6h14M3 10h14M3 14h14',
  search: 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zM13.5 13.5 17 17',
  done: 'M4 10.5 8 14.5 16 6',
  open: 'M10 3.5v13M3.5 10h13',
};

export const Icon = ({ name }: { name: keyof typeof PATHS }): JSX.Element => (
  <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);

/** A coin that comes back. */
export const Logo = (): JSX.Element => (
  <svg class="logo" viewBox="0 0 24 24" aria-hidden="true">
    <rect width="24" height="24" rx="7" fill="currentColor" />
    <path
      d="M17 12a5 5 0 1 1-2-4M15 4.5V8h-3.500"
      fill="none"
      stroke="var(--on-accent)"
      stroke-width="2"
      stroke-linecap="round"
    />
  </svg>
);
