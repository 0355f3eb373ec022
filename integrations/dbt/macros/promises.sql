{# Promises as generic tests, like the queries of `sfumato check --sql`: a row for every class that
   breaks the promise, with its number of records and no value. A missing value is one of its own. #}

{% macro sfumato_quoted(columns) -%}
  {%- for column in columns -%}
    {{- '"' ~ (column | replace('"', '""')) ~ '"' -}}{{- ", " if not loop.last -}}
  {%- endfor -%}
{%- endmacro %}

{% macro sfumato_people(person) -%}
  {%- if person -%} COUNT(DISTINCT {{ sfumato_quoted([person]) }}) {%- else -%} COUNT(*) {%- endif -%}
{%- endmacro %}

{% macro sfumato_different(column) -%}
  COUNT(DISTINCT {{ sfumato_quoted([column]) }}) + MAX(CASE WHEN {{ sfumato_quoted([column]) }} IS NULL THEN 1 ELSE 0 END)
{%- endmacro %}

{% test k_anonymous(model, k, quasi, person=none) %}
SELECT '{{ k }}-anonymity' AS promise, COUNT(*) AS records FROM {{ model }}
GROUP BY {{ sfumato_quoted(quasi) }} HAVING {{ sfumato_people(person) }} < {{ k }}
{% endtest %}

{% test l_diverse(model, l, quasi, sensitive, person=none) %}
SELECT '{{ l }}-diversity' AS promise, COUNT(*) AS records FROM {{ model }}
GROUP BY {{ sfumato_quoted(quasi) }} HAVING {{ sfumato_different(sensitive) }} < {{ l }}
{%- if person %} OR {{ sfumato_people(person) }} < {{ l }}{% endif %}
{% endtest %}

{% test p_sensitive(model, p, k, quasi, sensitive, person=none) %}
SELECT '{{ p }}-sensitive {{ k }}-anonymity' AS promise, COUNT(*) AS records FROM {{ model }}
GROUP BY {{ sfumato_quoted(quasi) }} HAVING {{ sfumato_people(person) }} < {{ k }}
  OR {{ sfumato_different(sensitive) }} < {{ p }}
{%- if person %} OR {{ sfumato_people(person) }} < {{ p }}{% endif %}
{% endtest %}
