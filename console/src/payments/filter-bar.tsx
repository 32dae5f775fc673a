import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Place } from '../service.ts';
import { texts } from '../texts.ts';
import type { Filters } from './filters.ts';

/** The filters of the list. They are in the address, so that a filtered list can be shared. */
export function FilterBar({ places }: { readonly places: readonly Place[] }) {
  const filters = useSearch({ from: '/payments' });
  const navigate = useNavigate();
  const { filters: labels, statuses } = texts.payments;
  const set = (name: keyof Filters) => (event: Event) => {
    const { value } = event.currentTarget as HTMLInputElement | HTMLSelectElement;
    const { [name]: _, ...rest } = filters;
    void navigate({
      to: '/payments',
      search: value === '' ? rest : { ...rest, [name]: value },
      replace: true,
    });
  };
  const day = (name: 'from' | 'to') => (
    <label>
      {labels[name]}
      <input type="date" value={filters[name] ?? ''} onInput={set(name)} />
    </label>
  );
  const amount = (name: 'min' | 'max') => (
    <label>
      {labels[name]}
      <input type="text" inputMode="decimal" value={filters[name] ?? ''} onInput={set(name)} />
    </label>
  );
  return (
    <form class="filters" aria-label={labels.label} onSubmit={(event) => event.preventDefault()}>
      <input
        type="search"
        aria-label={labels.search}
        placeholder={labels.search}
        value={filters.q ?? ''}
        onInput={set('q')}
      />
      <label>
        {labels.status}
        <select value={filters.status ?? ''} onChange={set('status')}>
          <option value="">{labels.any}</option>
          {Object.entries(statuses).map(([status, text]) => (
            <option key={status} value={status}>
              {text}
            </option>
          ))}
        </select>
      </label>
      <label>
        {labels.place}
        <select value={filters.place ?? ''} onChange={set('place')}>
          <option value="">{labels.any}</option>
          {places.map(({ processor, route }) => (
            <option key={`${processor}/${route}`}>{`${processor}/${route}`}</option>
          ))}
        </select>
      </label>
      {day('from')}
      {day('to')}
      {amount('min')}
      {amount('max')}
      <button type="button" onClick={() => void navigate({ to: '/payments', search: {} })}>
        {labels.clear}
      </button>
    </form>
  );
}
