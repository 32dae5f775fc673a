import { useNavigate } from '@tanstack/react-router';
import { texts } from '../texts.ts';

/** Begins the rows at an id, or shows only items whose ids have a prefix. */
export function JumpForm({
  table,
  from,
  prefix,
}: {
  readonly table: string;
  readonly from: string | undefined;
  readonly prefix: string | undefined;
}) {
  const navigate = useNavigate();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => {
      const value = String(data.get(name) ?? '');
      return value === '' ? {} : { [name]: value };
    };
    void navigate({
      to: '/tables/$table',
      params: { table },
      search: { ...text('from'), ...text('prefix') },
    });
  };
  return (
    <form class="filters" onSubmit={submit} key={`${from}/${prefix}`}>
      <label>
        {texts.tables.jump}
        <input type="search" name="from" defaultValue={from ?? ''} autocomplete="off" spellcheck={false} />
      </label>
      <label>
        {texts.tables.prefix}
        <input name="prefix" defaultValue={prefix ?? ''} autocomplete="off" spellcheck={false} />
      </label>
      <button type="submit">{texts.tables.go}</button>
    </form>
  );
}
