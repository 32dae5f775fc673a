-- Sends the same request repeatedly; wrk itself counts the responses that are neither 2xx nor 3xx.
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
