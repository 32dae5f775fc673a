-- Sends the same request again and again; wrk itself counts the answers that are none of 2xx or 3xx.
--
-- Usage: wrk -s constant.lua URL -- METHOD BODY

local text

function init(arguments)
  wrk.headers["Content-Type"] = "application/json"
  text = wrk.format(arguments[1], nil, nil, arguments[2])
end

function request()
  return text
end
