import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'preact/hooks';

/** How long after `g` the second key may come. */
const secondKeyMs = 1_000;

/** Shortcuts of every view: `/`, `?`, and `g` with the first letter of a view. None works while the reader types. */
export function useShortcuts(showKeys: () => void): void {
  const navigate = useNavigate();
  const goesAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const { key, target, ctrlKey, metaKey, altKey } = event;
      if (ctrlKey || metaKey || altKey || isTyping(target) || document.querySelector('[role=dialog]')) return;
      const isSecond = event.timeStamp - goesAt.current < secondKeyMs;
      goesAt.current = key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (key === '/') document.querySelector<HTMLElement>('input[type=search]')?.focus();
      else if (key === '?') showKeys();
      else if (isSecond && key === 'p') void navigate({ to: '/payments', search: {} });
      else if (isSecond && key === 'r') void navigate({ to: '/review' });
      else if (isSecond && key === 'c') void navigate({ to: '/reconciliation', search: {} });
      else if (isSecond && key === 't') void navigate({ to: '/tables' });
      else if (isSecond && key === 's') void navigate({ to: '/people', search: {} });
      else if (isSecond && key === 'k') void navigate({ to: '/keys' });
      else if (isSecond && key === 'o') void navigate({ to: '/operations' });
      else if (isSecond && key === 'b') void navigate({ to: '/backups' });
      else if (isSecond && key === 'a') void navigate({ to: '/audit' });
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, [navigate, showKeys]);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select') !== null;
}
