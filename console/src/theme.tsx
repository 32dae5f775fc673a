import { useEffect, useState } from 'preact/hooks';
import { texts } from './texts.ts';

const place = 'counterfoil-console-colors';
const themes = ['auto', 'light', 'dark'] as const;

/** Light or dark colors: those of the system, or the reader's choice, which this browser remembers. */
export function ThemeChoice() {
  const [theme, setTheme] = useState(() => localStorage.getItem(place) ?? 'auto');
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(place, theme);
  }, [theme]);
  return (
    <select
      aria-label={texts.theme.label}
      value={theme}
      onChange={(event) => setTheme(event.currentTarget.value)}
    >
      {themes.map((each) => (
        <option key={each} value={each}>
          {texts.theme[each]}
        </option>
      ))}
    </select>
  );
}
